// SPDX-License-Identifier: Apache-2.0
// The loops of codec_kernels.h, written once and compiled for each level with its flags: plain
// loops that the compiler makes vector code of. Sums go in 16 lanes at every level, so that their
// bits are the same. As in vector_kernels.h a level names its Machine in an unnamed namespace, and
// nothing here calls inline functions of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/codec_kernels.h"

namespace stretto::ops {

/// Machine says how signs are gathered and places are written:
///   uint16 signs(const float* of 16);  size_t places(uint32* out, const float* of 16, uint32
///   least, uint32 first)
template <class Machine>
class CodecLoops {
 public:
  static constexpr CodecKernels table() {
    return {.sum_sizes = sum_sizes,
            .sum_squares = sum_squares,
            .largest = largest,
            .signs = signs,
            .from_signs = from_signs,
            .quantize = quantize,
            .dequantize = dequantize,
            .dither_linear = dither_linear,
            .dither_natural = dither_natural,
            .from_linear = from_linear,
            .from_natural = from_natural,
            .pack = pack,
            .unpack = unpack,
            .subtract = subtract,
            .nesterov = nesterov,
            .count_sizes = count_sizes,
            .places_from = places_from};
  }

 private:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::uint32_t kMagnitude = 0x7fffffff;

  static std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
  static float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

  /// The sum of term(x) over all, lane by lane, then over the lanes.
  template <typename Term>
  static double sum(const float* in, std::size_t n, Term term) {
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(in[i + lane]);
    }
    for (std::size_t lane = 0; i + lane < n; ++lane) lanes[lane] += term(in[i + lane]);
    double total = 0;
    for (const double lane : lanes) total += lane;
    return total;
  }

  static double sum_sizes(const float* in, std::size_t n) {
    return sum(in, n,
               [](float x) { return static_cast<double>(float_of(bits_of(x) & kMagnitude)); });
  }
  static double sum_squares(const float* in, std::size_t n) {
    return sum(in, n, [](float x) { return static_cast<double>(x) * static_cast<double>(x); });
  }

  static std::uint32_t largest(const float* in, std::size_t n) {
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t size = bits_of(in[i]) & kMagnitude;
      most = size > most ? size : most;
    }
    return most;
  }

  static void signs(std::byte* out, const float* in, std::size_t n) {
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const std::uint16_t word = Machine::signs(in + i);
      std::memcpy(out + i / 8, &word, sizeof word);
    }
    if (i == n) return;
    float rest[kLanes] = {};
    std::memcpy(rest, in + i, (n - i) * sizeof(float));
    const std::uint16_t word = Machine::signs(rest);
    std::memcpy(out + i / 8, &word, (n - i + 7) / 8);
  }

  static void from_signs(float* __restrict out, const std::byte* __restrict in, float size,
                         std::size_t n) {
    const std::uint32_t bits = bits_of(size);
    for (std::size_t i = 0; i < n; i += 32) {
      const std::size_t count = n - i < 32 ? n - i : 32;
      std::uint32_t word = 0;
      std::memcpy(&word, in + i / 8, (count + 7) / 8);
      if (count == 32) {
        for (std::uint32_t j = 0; j < 32; ++j) out[i + j] = signed_by(bits, word, j);
      } else {
        for (std::uint32_t j = 0; j < count; ++j) out[i + j] = signed_by(bits, word, j);
      }
    }
  }
  static float signed_by(std::uint32_t bits, std::uint32_t word, std::uint32_t place) {
    return float_of(bits ^ ((word << (31 - place)) & 0x80000000U));
  }

  static void quantize(std::byte* __restrict out, const float* __restrict in, float inverse,
                       std::size_t n) {
    // From 2^23 on an f32 counts in ones: adding 1.5 * 2^23 rounds to nearest even.
    constexpr float kOnes = 12582912.0F;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t rounded = bits_of(in[i] * inverse + kOnes);
      out[i] = static_cast<std::byte>(rounded & 0xff);
    }
  }
  static void dequantize(float* __restrict out, const std::byte* __restrict in, float scale,
                         std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = static_cast<float>(static_cast<std::int8_t>(in[i])) * scale;
    }
  }

  /// A hash in the manner of Wellons' lowbias32, keyed at both rounds.
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

  /// Levels are 2^(level - levels). A size between two powers of two is raised to the upper one by
  /// adding chance to its fraction; below the least one it becomes that or nothing.
  static void dither_natural(std::int8_t* __restrict out, const float* __restrict in,
                             const Dither& how, std::size_t first, std::size_t n) {
    const Chance chance = how.chance;
    const float inverse = how.inverse_norm;
    const std::uint32_t levels = how.levels;
    const std::uint32_t below = 127 - levels;  // The exponent of level 0, were it one.
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

  /// `bits` a level: whole bytes, then what is left.
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
  static void pack(std::byte* out, const std::int8_t* in, unsigned bits, std::size_t n) {
    if (bits == 2) return pack_by<2>(out, in, n);
    if (bits == 4) return pack_by<4>(out, in, n);
    std::memcpy(out, in, n);
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
  static void unpack(std::int8_t* out, const std::byte* in, unsigned bits, std::size_t n) {
    if (bits == 2) return unpack_by<2>(out, in, n);
    if (bits == 4) return unpack_by<4>(out, in, n);
    std::memcpy(out, in, n);
  }

  static void subtract(float* __restrict target, const float* __restrict taken, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) target[i] -= taken[i];
  }

  static void nesterov(float* out, float* __restrict memory, const float* in, float mu,
                       std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const float x = in[i];
      const float grown = mu * memory[i] + x;
      memory[i] = grown;
      out[i] = x + mu * grown;
    }
  }

  /// Four tables by turns: neighbours are often of one size, and one counter would be waited for.
  static void count_sizes(std::uint32_t* counts, const float* in, std::size_t n) {
    constexpr std::size_t kBins = 2048;
    std::uint32_t tables[4][kBins] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (std::size_t t = 0; t < 4; ++t) ++tables[t][(bits_of(in[i + t]) & kMagnitude) >> 20];
    }
    for (; i < n; ++i) ++tables[0][(bits_of(in[i]) & kMagnitude) >> 20];
    for (const auto& table : tables) {
      for (std::size_t bin = 0; bin < kBins; ++bin) counts[bin] += table[bin];
    }
  }

  static std::size_t places_from(std::uint32_t* out, const float* in, std::uint32_t least,
                                 std::size_t n) {
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      found += Machine::places(out + found, in + i, least, static_cast<std::uint32_t>(i));
    }
    for (; i < n; ++i) {
      out[found] = static_cast<std::uint32_t>(i);
      found += (bits_of(in[i]) & kMagnitude) >= least ? 1 : 0;
    }
    return found;
  }
};

}  // namespace stretto::ops
