// SPDX-License-Identifier: Apache-2.0
// Codec loops over all elements: sums, signs, int8, and the additions of error feedback. Part of
// codec_loops.h, which has the common contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/codec_kernels.h"

namespace stretto::ops {

/// Converts f32 to bits and back. A class per Machine, as all code of a level.
template <class Machine>
class FloatBits {
 protected:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::uint32_t kMagnitude = 0x7fffffff;

  static std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
  static float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
};

/// Machine::signs gathers 16 sign bits.
template <class Machine>
class DenseLoops : FloatBits<Machine> {
 public:
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

  static void quantize(std::byte* __restrict out, const float* __restrict in, float inverse,
                       std::size_t n) {
    // From 2^23 on, f32 has a step of 1: adding 1.5 * 2^23 rounds to nearest even.
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

 private:
  using FloatBits<Machine>::bits_of;
  using FloatBits<Machine>::float_of;
  using FloatBits<Machine>::kLanes;
  using FloatBits<Machine>::kMagnitude;

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

  static float signed_by(std::uint32_t bits, std::uint32_t word, std::uint32_t place) {
    return float_of(bits ^ ((word << (31 - place)) & 0x80000000U));
  }
};

}  // namespace stretto::ops
