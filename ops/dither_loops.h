// SPDX-License-Identifier: Apache-2.0
// Loops of dithering: random levels, their values, and their packing. Part of codec_loops.h, whose
// comments apply to all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/codec_kernels.h"
#include "ops/dense_loops.h"

namespace stretto::ops {

/// Each element separately, with randomness from its index.
template <class Machine>
class DitherLoops : FloatBits<Machine> {
 public:
  static void dither_linear(std::int8_t* __restrict out, const float* __restrict in,
                            const Dither& how, std::size_t first, std::size_t n) {
    const Chance chance = how.chance;
    const float inverse = how.inverse_norm;
    const auto levels = static_cast<float>(how.levels);
    const auto start = static_cast<std::uint32_t>(first);
    for (std::size_t i = 0; i < n; ++i) {
      const float size = float_of(bits_of(in[i]) & kMagnitude) * inverse * levels;
      const auto random =
          static_cast<std::int32_t>(chance_of(chance, start + static_cast<std::uint32_t>(i)) >> 8);
      const float raised = size + static_cast<float>(random) * 0x1p-24F;
      const float level = raised < levels ? raised : levels;  // NaN too.
      out[i] = with_sign(static_cast<std::uint32_t>(static_cast<std::int32_t>(level)), in[i]);
    }
  }

  /// Levels are 2^(level - levels). Adding a random number to the fraction rounds a size to a power
  /// of two with the right probability; below the smallest level it becomes that level or 0.
  static void dither_natural(std::int8_t* __restrict out, const float* __restrict in,
                             const Dither& how, std::size_t first, std::size_t n) {
    const Chance chance = how.chance;
    const float inverse = how.inverse_norm;
    const std::uint32_t levels = how.levels;
    const std::uint32_t below = 127 - levels;  // The exponent that level 0 would have.
    const float least = float_of((below + 1) << 23);
    const auto start = static_cast<std::uint32_t>(first);
    for (std::size_t i = 0; i < n; ++i) {
      const float raw = float_of(bits_of(in[i]) & kMagnitude) * inverse;
      const float size = raw < 1.0F ? raw : 1.0F;  // NaN too.
      const std::uint32_t random = chance_of(chance, start + static_cast<std::uint32_t>(i)) >> 9;
      const std::uint32_t raised = ((bits_of(size) + random) >> 23) - below;
      const float part = static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-23F * least;
      const std::uint32_t small = part < size ? 1 : 0;
      const std::uint32_t level = size < least ? small : raised;
      out[i] = with_sign(level < levels ? level : levels, in[i]);
    }
  }

  static void from_linear(float* __restrict out, const std::int8_t* __restrict in, float norm,
                          std::uint32_t levels, std::size_t n) {
    const float step = norm / static_cast<float>(levels);
    const auto most = static_cast<std::int32_t>(levels);
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t level = in[i];
      level = level > most ? most : level;
      level = level < -most ? -most : level;
      out[i] = static_cast<float>(level) * step;
    }
  }

  static void from_natural(float* __restrict out, const std::int8_t* __restrict in, float norm,
                           std::uint32_t levels, std::size_t n) {
    const std::uint32_t below = 127 - levels;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t level = in[i];
      const auto size = static_cast<std::uint32_t>(level < 0 ? -level : level);
      const std::uint32_t known = size < levels ? size : levels;
      const std::uint32_t bits = known == 0 ? 0 : (known + below) << 23;
      out[i] = float_of(bits | (level < 0 ? 0x80000000U : 0)) * norm;
    }
  }

 private:
  using FloatBits<Machine>::bits_of;
  using FloatBits<Machine>::float_of;
  using FloatBits<Machine>::kMagnitude;

  /// A hash similar to Wellons' lowbias32, keyed at both rounds.
  static std::uint32_t chance_of(const Chance& chance, std::uint32_t index) {
    std::uint32_t x = index * 0x9e3779b9U + chance.first;
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= (x >> 15) ^ chance.second;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
  }
  static std::int8_t with_sign(std::uint32_t level, float of) {
    const auto value = static_cast<std::int32_t>(level);
    return static_cast<std::int8_t>((bits_of(of) >> 31) != 0 ? -value : value);
  }
};

/// Packs levels into few bits each, and unpacks them.
template <class Machine>
class LevelPacking {
 public:
  static void pack(std::byte* out, const std::int8_t* in, unsigned bits, std::size_t n) {
    if (bits == 2) return pack_by<2>(out, in, n);
    if (bits == 4) return pack_by<4>(out, in, n);
    std::memcpy(out, in, n);
  }

  static void unpack(std::int8_t* out, const std::byte* in, unsigned bits, std::size_t n) {
    if (bits == 2) return unpack_by<2>(out, in, n);
    if (bits == 4) return unpack_by<4>(out, in, n);
    std::memcpy(out, in, n);
  }

 private:
  /// `bits` per level: whole bytes, then the remainder.
  template <unsigned bits>
  static void pack_by(std::byte* __restrict out, const std::int8_t* __restrict in, std::size_t n) {
    constexpr std::size_t kEach = 8 / bits;
    constexpr unsigned kMask = (1U << bits) - 1;
    const std::size_t whole = n / kEach;
    for (std::size_t i = 0; i < whole; ++i) {
      unsigned byte = 0;
      for (std::size_t j = 0; j < kEach; ++j) {
        byte |= (static_cast<unsigned>(in[i * kEach + j]) & kMask) << (j * bits);
      }
      out[i] = static_cast<std::byte>(byte);
    }
    if (whole * kEach == n) return;
    unsigned rest = 0;
    for (std::size_t j = 0; whole * kEach + j < n; ++j) {
      rest |= (static_cast<unsigned>(in[whole * kEach + j]) & kMask) << (j * bits);
    }
    out[whole] = static_cast<std::byte>(rest);
  }

  template <unsigned bits>
  static std::int8_t level_at(std::byte byte, std::size_t place) {
    const unsigned raised = static_cast<unsigned>(byte) << (8 - bits - place * bits);
    return static_cast<std::int8_t>(static_cast<std::int8_t>(raised) >> (8 - bits));
  }
  template <unsigned bits>
  static void unpack_by(std::int8_t* __restrict out, const std::byte* __restrict in,
                        std::size_t n) {
    constexpr std::size_t kEach = 8 / bits;
    const std::size_t whole = n / kEach;
    for (std::size_t i = 0; i < whole; ++i) {
      for (std::size_t j = 0; j < kEach; ++j) out[i * kEach + j] = level_at<bits>(in[i], j);
    }
    for (std::size_t i = whole * kEach; i < n; ++i) out[i] = level_at<bits>(in[whole], i % kEach);
  }
};

}  // namespace stretto::ops
