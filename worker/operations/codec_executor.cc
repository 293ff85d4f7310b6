// SPDX-License-Identifier: Apache-2.0
// A part's encodings. Users' memory may be unaligned; codecs need aligned floats.
#include "worker/operations/codec_executor.h"

#include <fmt/core.h>

#include <cstring>
#include <vector>

namespace stretto {
namespace {

bool is_aligned(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignof(float) == 0;
}

std::size_t count_of(std::size_t bytes) { return bytes / sizeof(float); }

}  // namespace

PartCoder::PartCoder(const TensorSpec& spec, std::uint32_t part, Rank rank)
    : spec_(*spec.options.codec),
      what_{.tensor = ops::name_hash(spec.name), .part = part, .round = 0},
      rank_(rank),
      encoder_(spec_, true) {}

std::size_t PartCoder::encoded_bytes(std::size_t bytes) const {
  return ops::encoded_bytes(spec_, count_of(bytes));
}

void PartCoder::encode(std::span<const std::byte> share, std::uint64_t round,
                       std::span<std::byte> out) {
  what_.round = round;
  const ops::Encoding how{.stream = ops::stream_for(spec_, what_, rank_), .unbiased = true};
  if (is_aligned(share.data())) {
    encoder_.encode({reinterpret_cast<const float*>(share.data()), count_of(share.size())}, how,
                    out);
    return;
  }
  std::vector<float> numbers(count_of(share.size()));
  std::memcpy(numbers.data(), share.data(), share.size());
  encoder_.encode(numbers, how, out);
}

Status PartCoder::check(Codec codec, std::size_t bytes, const Buffer& encoded) const {
  if (codec != spec_.codec) {
    return {Code::kMalformed,
            fmt::format("a value came as {}, wanted {}", name_of(codec), name_of(spec_.codec))};
  }
  return ops::check_encoded(spec_, count_of(bytes), encoded.bytes());
}

void PartCoder::decode(std::span<const std::byte> encoded, std::span<std::byte> target) const {
  if (is_aligned(target.data())) {
    ops::decode(spec_, encoded, {reinterpret_cast<float*>(target.data()), count_of(target.size())},
                ops::Then::kAssign);
    return;
  }
  std::vector<float> numbers(count_of(target.size()));
  ops::decode(spec_, encoded, numbers, ops::Then::kAssign);
  std::memcpy(target.data(), numbers.data(), target.size());
}

void CodecExecutor::run(const Piece&, const Work& work, const Work& then) {
  work();
  then();
}

void CodecExecutor::discard(std::uint64_t) {}

}  // namespace stretto
