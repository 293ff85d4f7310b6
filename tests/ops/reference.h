// SPDX-License-Identifier: Apache-2.0
// The reference for tests of ops/: a second, plain implementation of the element types that shares
// no code with the kernels. f16 and bf16 are a table of values to search.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "ops/sum.h"
#include "stretto/types.h"

namespace stretto::ops {

inline constexpr Dtype kAllDtypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBf16,
                                       Dtype::kI8,  Dtype::kU8,  Dtype::kI32, Dtype::kI64};
inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// The levels that this processor can run.
inline std::vector<Level> all_levels() {
  std::vector<Level> levels;
  for (const Level level : {Level::kPortable, Level::kAvx2, Level::kAvx512}) {
    if (level <= best_level()) levels.push_back(level);
  }
  return levels;
}

/// A 16-bit floating type: sign, exponent, mantissa.
class SmallFloat {
 public:
  SmallFloat(int exponent_bits, int mantissa_bits)
      : mantissa_bits_(mantissa_bits), bias_((1 << (exponent_bits - 1)) - 1) {
    const unsigned int infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
    for (unsigned int bits = 0; bits <= infinity; ++bits) magnitudes_.push_back(magnitude_of(bits));
  }

  std::uint16_t infinity() const { return static_cast<std::uint16_t>(magnitudes_.size() - 1); }
  bool is_nan(std::uint16_t bits) const { return (bits & 0x7fff) > infinity(); }

  double value_of(std::uint16_t bits) const {
    if (is_nan(bits)) return std::numeric_limits<double>::quiet_NaN();
    const unsigned int index = bits & 0x7fffU;
    const double magnitude = index == infinity() ? HUGE_VAL : magnitudes_[index];
    return bits > 0x7fff ? -magnitude : magnitude;
  }

  /// Rounds to nearest, ties to even bits: the bits after the largest finite number are even and
  /// stand for the next power of two, which is Inf.
  std::uint16_t nearest_to(double value) const {
    if (std::isnan(value)) return 0x7fff;
    const double magnitude = std::fabs(value);
    const auto above = std::upper_bound(magnitudes_.begin(), magnitudes_.end(), magnitude);
    auto index = static_cast<std::size_t>(above - magnitudes_.begin()) - 1;
    if (above != magnitudes_.end()) {
      const double down = magnitude - magnitudes_[index];
      const double up = *above - magnitude;
      if (up < down || (up == down && index % 2 == 1)) ++index;
    }
    return static_cast<std::uint16_t>(index | (std::signbit(value) ? 0x8000 : 0));
  }

 private:
  double magnitude_of(unsigned int bits) const {
    const int exponent = static_cast<int>(bits >> mantissa_bits_);
    const unsigned int fraction = bits & ((1U << mantissa_bits_) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias_ - mantissa_bits_);
    return std::ldexp(fraction + (1U << mantissa_bits_), exponent - bias_ - mantissa_bits_);
  }

  int mantissa_bits_;
  int bias_;
  std::vector<double> magnitudes_;  ///< Indexed by their bits, up to Inf.
};

/// `dtype` is kF16 or kBf16.
inline const SmallFloat& small_float(Dtype dtype) {
  static const SmallFloat kF16(5, 10);
  static const SmallFloat kBf16(8, 7);
  return dtype == Dtype::kF16 ? kF16 : kBf16;
}

template <typename T>
T element_at(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.subspan(index * sizeof(T), sizeof(T)).data(), sizeof(T));
  return value;
}

template <typename T>
std::vector<std::byte> bytes_of_all(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A floating element as a number, f32, f16 and bf16 exactly.
inline double number_at(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  if (dtype == Dtype::kF64) return element_at<double>(bytes, index);
  if (dtype == Dtype::kF32) return static_cast<double>(element_at<float>(bytes, index));
  return small_float(dtype).value_of(element_at<std::uint16_t>(bytes, index));
}

/// Numbers as elements of a floating type, rounded to nearest.
inline std::vector<std::byte> elements_of(Dtype dtype, const std::vector<double>& numbers) {
  if (dtype == Dtype::kF64) return bytes_of_all(numbers);
  if (dtype == Dtype::kF32) return bytes_of_all(std::vector<float>(numbers.begin(), numbers.end()));
  std::vector<std::uint16_t> bits;
  for (const double number : numbers) bits.push_back(small_float(dtype).nearest_to(number));
  return bytes_of_all(bits);
}

inline bool is_nan_at(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  const bool integer = dtype >= Dtype::kI8;
  return !integer && std::isnan(number_at(dtype, bytes, index));
}

/// The index of the first element that differs, or kNone; all NaNs are equal.
inline std::size_t first_difference(Dtype dtype, std::span<const std::byte> expected,
                                    std::span<const std::byte> found) {
  const std::size_t size = bytes_of(dtype);
  for (std::size_t i = 0; i * size < expected.size(); ++i) {
    if (std::memcmp(&expected[i * size], &found[i * size], size) == 0) continue;
    if (!is_nan_at(dtype, expected, i) || !is_nan_at(dtype, found, i)) return i;
  }
  return kNone;
}

/// `count` random bytes, of any bit pattern.
inline std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 56);
  return bytes;
}

}  // namespace stretto::ops
