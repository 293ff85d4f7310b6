// SPDX-License-Identifier: Apache-2.0
// The parts of codec.cc: one pair of functions for each family of codecs. Private to ops/.
#pragma once

#include <array>
#include <cstring>

#include "common/check.h"
#include "ops/codec.h"
#include "ops/codec_kernels.h"
#include "ops/kernels.h"

namespace stretto::ops {

/// Numbers that are decoded at once before an addition: they fit in the first-level cache.
inline constexpr std::size_t kTile = 1024;
static_assert(kTile % kBlock == 0);
/// A part or block below this counts as 0: its inverse would not be finite.
inline constexpr float kNothing = 0x1p-100F;

template <typename T>
T read(std::span<const std::byte> from, std::size_t at) {
  T value{};
  std::memcpy(&value, &from[at], sizeof value);
  return value;
}
template <typename T>
void write(std::span<std::byte> to, std::size_t at, T value) {
  std::memcpy(&to[at], &value, sizeof value);
}

constexpr std::size_t blocks_of(std::size_t count) { return (count + kBlock - 1) / kBlock; }

/// Bits that an element of kDithering takes: 2, 4 or 8.
inline unsigned dither_bits(const CodecSpec& spec) {
  if (spec.k <= 1) return 2;
  return spec.k <= 7 ? 4 : 8;
}

inline Chance chance_of_stream(std::uint64_t stream) {
  return {static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
}

/// Calls decode_tile(first, out) for each tile, and applies `then` to it. An assignment decodes
/// directly into `target`.
template <typename DecodeTile>
void decode_tiles(std::span<float> target, Then then, Level level, DecodeTile decode_tile) {
  std::array<float, kTile> numbers;
  for (std::size_t first = 0; first < target.size(); first += kTile) {
    const auto piece = target.subspan(first, std::min(kTile, target.size() - first));
    if (then == Then::kAssign) {
      decode_tile(first, piece);
      continue;
    }
    const auto tile = std::span(numbers).first(piece.size());
    decode_tile(first, tile);
    if (then == Then::kAdd) {
      auto* out = reinterpret_cast<std::byte*>(piece.data());
      kernels_of(level).sum.f32(out, out, reinterpret_cast<const std::byte*>(tile.data()),
                                piece.size_bytes());
    } else {
      codec_kernels_of(level).subtract(piece.data(), tile.data(), piece.size());
    }
  }
}

void encode_halves(Codec codec, std::span<const float> numbers, Level level,
                   std::span<std::byte> out);
void decode_halves(Codec codec, std::span<const std::byte> in, std::span<float> target, Then then,
                   Level level);
void encode_int8(std::span<const float> numbers, Level level, std::span<std::byte> out);
void decode_int8(std::span<const std::byte> in, std::span<float> target, Then then, Level level);
void encode_onebit(const CodecSpec& spec, std::span<const float> numbers, Level level,
                   std::span<std::byte> out);
void decode_onebit(std::span<const std::byte> in, std::span<float> target, Then then, Level level);

void encode_dithering(const CodecSpec& spec, std::span<const float> numbers, const Encoding& how,
                      std::span<std::byte> out);
void decode_dithering(const CodecSpec& spec, std::span<const std::byte> in, std::span<float> target,
                      Then then, Level level);

void encode_topk(std::size_t kept, std::span<const float> numbers, Level level,
                 std::span<std::byte> out);
void decode_topk(std::span<const std::byte> in, std::span<float> target, Then then);
Status check_places(std::size_t count, std::span<const std::byte> in);
void encode_randomk(std::size_t kept, std::span<const float> numbers, const Encoding& how,
                    std::span<std::byte> out);
void decode_randomk(std::span<const std::byte> in, std::span<float> target, Then then);

}  // namespace stretto::ops
