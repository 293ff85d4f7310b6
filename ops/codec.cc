// SPDX-License-Identifier: Apache-2.0
// Dispatches to codecs; computes sizes and checks.
#include "ops/codec.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/mix64.h"
#include "ops/codec_parts.h"

namespace stretto::ops {

const CodecKernels& codec_kernels_of(Level level) {
  STRETTO_CHECK(level <= best_level());
  if (level == Level::kPortable) return portable_codec_kernels();
  return level == Level::kAvx2 ? avx2_codec_kernels() : avx512_codec_kernels();
}

std::uint64_t stream_of(std::uint64_t seed, std::uint64_t tensor, std::uint64_t part,
                        std::uint64_t round, std::uint64_t rank) {
  std::uint64_t stream = mix64(seed + 0x9e3779b97f4a7c15U);
  for (const std::uint64_t word : {tensor, part, round, rank}) {
    stream = mix64(stream + word + 0x9e3779b97f4a7c15U);
  }
  return stream;
}

// FNV-1a: names are short, and collisions benefit no attacker.
std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return hash;
}

std::uint64_t stream_for(const CodecSpec& spec, const PartRound& what, std::uint64_t who) {
  const std::uint64_t rank = spec.codec == Codec::kRandomk ? 0 : who;
  return stream_of(spec.seed, what.tensor, what.part, what.round, rank);
}

std::size_t kept_of(const CodecSpec& spec, std::size_t count) {
  const auto all = static_cast<double>(count);
  const double wanted = spec.k < 1 ? std::round(spec.k * all) : std::floor(spec.k);
  const auto kept = static_cast<std::size_t>(std::clamp(wanted, 1.0, std::max(all, 1.0)));
  return std::min(kept, count);
}

namespace {

/// The codec's own size, possibly more than that of the elements.
std::size_t coded_bytes(const CodecSpec& spec, std::size_t count) {
  switch (spec.codec) {
    case Codec::kNone:
      break;
    case Codec::kFp16:
    case Codec::kBf16:
      return count * 2;
    case Codec::kInt8:
      return blocks_of(count) * sizeof(float) + count;
    case Codec::kOnebit:
      return sizeof(float) + (count + 7) / 8;
    case Codec::kTopk:
      return kept_of(spec, count) * (sizeof(std::uint32_t) + sizeof(float));
    case Codec::kRandomk:
      return sizeof(std::uint64_t) + kept_of(spec, count) * sizeof(float);
    case Codec::kDithering:
      return sizeof(float) + (count * dither_bits(spec) + 7) / 8;
  }
  return count * sizeof(float);
}

void decode_plain(std::span<const std::byte> encoded, std::span<float> target, Then then,
                  Level level) {
  decode_tiles(target, then, level, [encoded](std::size_t first, std::span<float> out) {
    std::memcpy(out.data(), encoded.data() + first * sizeof(float), out.size_bytes());
  });
}

}  // namespace

bool is_plain(const CodecSpec& spec, std::size_t count) {
  const bool chooses = spec.codec == Codec::kTopk || spec.codec == Codec::kRandomk;
  return chooses && count > 0 && coded_bytes(spec, count) > count * sizeof(float);
}

std::size_t encoded_bytes(const CodecSpec& spec, std::size_t count) {
  return is_plain(spec, count) ? count * sizeof(float) : coded_bytes(spec, count);
}

void encode(const CodecSpec& spec, std::span<const float> numbers, const Encoding& how,
            std::span<std::byte> out) {
  STRETTO_CHECK(out.size() == encoded_bytes(spec, numbers.size()));
  STRETTO_CHECK(spec.lossy() && numbers.size() <= std::size_t{1} << 31);
  if (is_plain(spec, numbers.size())) {
    std::memcpy(out.data(), numbers.data(), numbers.size_bytes());
    return;
  }
  switch (spec.codec) {
    case Codec::kNone:
      return;
    case Codec::kFp16:
    case Codec::kBf16:
      return encode_halves(spec.codec, numbers, how.level, out);
    case Codec::kInt8:
      return encode_int8(numbers, how.level, out);
    case Codec::kOnebit:
      return encode_onebit(spec, numbers, how.level, out);
    case Codec::kTopk:
      return encode_topk(kept_of(spec, numbers.size()), numbers, how.level, out);
    case Codec::kRandomk:
      return encode_randomk(kept_of(spec, numbers.size()), numbers, how, out);
    case Codec::kDithering:
      return encode_dithering(spec, numbers, how, out);
  }
}

Status check_encoded(const CodecSpec& spec, std::size_t count, std::span<const std::byte> encoded) {
  if (const std::size_t wanted = encoded_bytes(spec, count); encoded.size() != wanted) {
    return {Code::kMalformed, std::to_string(encoded.size()) + " bytes came for " +
                                  std::to_string(count) + " elements as " +
                                  std::string(name_of(spec.codec)) + ", wanted " +
                                  std::to_string(wanted)};
  }
  const bool has_places = spec.codec == Codec::kTopk && !is_plain(spec, count);
  return has_places ? check_places(count, encoded) : Status();
}

void decode(const CodecSpec& spec, std::span<const std::byte> encoded, std::span<float> target,
            Then then, Level level) {
  STRETTO_CHECK(encoded.size() == encoded_bytes(spec, target.size()));
  if (is_plain(spec, target.size())) return decode_plain(encoded, target, then, level);
  switch (spec.codec) {
    case Codec::kNone:
      return;
    case Codec::kFp16:
    case Codec::kBf16:
      return decode_halves(spec.codec, encoded, target, then, level);
    case Codec::kInt8:
      return decode_int8(encoded, target, then, level);
    case Codec::kOnebit:
      return decode_onebit(encoded, target, then, level);
    case Codec::kTopk:
      return decode_topk(encoded, target, then);
    case Codec::kRandomk:
      return decode_randomk(encoded, target, then);
    case Codec::kDithering:
      return decode_dithering(spec, encoded, target, then, level);
  }
}

}  // namespace stretto::ops
