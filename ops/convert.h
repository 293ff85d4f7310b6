// SPDX-License-Identifier: Apache-2.0
// Converts floating-point elements to the type of arithmetic: double for f64, float for f32, f16
// and bf16. Sums have their own kernels. Other operations (division, update rules) read elements,
// work on arrays that fit in the first-level cache, and write them back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "ops/sum.h"
#include "stretto/types.h"

namespace stretto::ops {

/// Whether `dtype` is a floating type.
constexpr bool is_floating(Dtype dtype) {
  using enum Dtype;
  return dtype == kF32 || dtype == kF64 || dtype == kF16 || dtype == kBf16;
}

/// Converts f32, f16 or bf16 elements exactly; a NaN may become quiet. Equal counts, any alignment
/// of `elements`, no overlap. Thread: any, as all of this file.
void widen(Dtype dtype, std::span<const std::byte> elements, std::span<float> numbers);
/// The same with the kernels of one level, which must not be above best_level(): for tests.
void widen(Level level, Dtype dtype, std::span<const std::byte> elements, std::span<float> numbers);
/// The same for f64.
void widen(Dtype dtype, std::span<const std::byte> elements, std::span<double> numbers);

/// The inverse: rounds to nearest even, keeps subnormals, and gives Inf for too large numbers; NaN
/// stays NaN.
void narrow(Dtype dtype, std::span<const float> numbers, std::span<std::byte> elements);
void narrow(Level level, Dtype dtype, std::span<const float> numbers,
            std::span<std::byte> elements);
void narrow(Dtype dtype, std::span<const double> numbers, std::span<std::byte> elements);

/// Numbers processed at once: two such arrays of double fill half of a small cache.
inline constexpr std::size_t kPieceNumbers = 1024;

/// Rewrites `elements` piece by piece: change(first, numbers) gets the numbers of the elements from
/// `first` on, and the function writes its changes back.
template <typename Real, typename Change>
void change_in_pieces(Dtype dtype, std::span<std::byte> elements, Change change) {
  std::array<Real, kPieceNumbers> numbers;
  const std::size_t element_bytes = bytes_of(dtype);
  const std::size_t count = elements.size() / element_bytes;
  for (std::size_t first = 0; first < count; first += kPieceNumbers) {
    const auto piece = std::span(numbers).first(std::min(kPieceNumbers, count - first));
    const auto bytes = elements.subspan(first * element_bytes, piece.size() * element_bytes);
    widen(dtype, bytes, piece);
    change(first, piece);
    narrow(dtype, piece, bytes);
  }
}

}  // namespace stretto::ops
