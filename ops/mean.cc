// SPDX-License-Identifier: Apache-2.0
// Floating shares by the kernels that widen and narrow, a piece at a time; integers by plain loops.
#include "ops/mean.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/check.h"
#include "ops/convert.h"
#include "ops/sum.h"

namespace stretto::ops {
namespace {

template <typename Number>
std::span<Number> as_numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}
template <typename Number>
std::span<const Number> as_numbers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

void accumulate_halves(Dtype dtype, std::span<float> sums, std::span<const std::byte> share,
                       bool add) {
  if (!add) return widen(dtype, share, sums);
  std::array<float, kPieceNumbers> numbers;
  for (std::size_t first = 0; first < sums.size(); first += kPieceNumbers) {
    const auto piece = sums.subspan(first, std::min(kPieceNumbers, sums.size() - first));
    const auto widened = std::span(numbers).first(piece.size());
    widen(dtype, share.subspan(first * bytes_of(dtype), piece.size() * bytes_of(dtype)), widened);
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] += widened[i];
  }
}

template <typename Integer, typename Wide>
void accumulate_integers(std::span<Wide> sums, std::span<const std::byte> share, bool add) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Integer number = 0;
    std::memcpy(&number, &share[i * sizeof number], sizeof number);
    sums[i] = add ? sums[i] + number : Wide{number};
  }
}

void divide_halves(Dtype dtype, std::span<const float> sums, std::uint32_t divisor,
                   std::span<std::byte> means) {
  const auto by = static_cast<float>(divisor);
  std::array<float, kPieceNumbers> numbers;
  for (std::size_t first = 0; first < sums.size(); first += kPieceNumbers) {
    const auto piece = sums.subspan(first, std::min(kPieceNumbers, sums.size() - first));
    const auto divided = std::span(numbers).first(piece.size());
    for (std::size_t i = 0; i < piece.size(); ++i) divided[i] = piece[i] / by;
    narrow(dtype, divided, means.subspan(first * bytes_of(dtype), piece.size() * bytes_of(dtype)));
  }
}

template <typename Integer, typename Wide>
void divide_integer_sums(std::span<const Wide> sums, std::uint32_t divisor,
                         std::span<std::byte> means) {
  const std::int64_t by = divisor;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto wide = static_cast<std::int64_t>(sums[i]);
    const auto mean = static_cast<Integer>(wide % by < 0 ? wide / by - 1 : wide / by);
    std::memcpy(&means[i * sizeof mean], &mean, sizeof mean);
  }
}

void check_sizes(Dtype dtype, std::size_t narrow_bytes, std::size_t wide_bytes) {
  STRETTO_CHECK(bytes_of(dtype) != 0 && narrow_bytes % bytes_of(dtype) == 0);
  STRETTO_CHECK(wide_bytes == narrow_bytes / bytes_of(dtype) * bytes_of(dtype_of_sums(dtype)));
}

}  // namespace

void accumulate(Dtype dtype, std::span<std::byte> sums, std::span<const std::byte> share,
                bool add) {
  check_sizes(dtype, share.size(), sums.size());
  switch (dtype) {
    case Dtype::kF16:
    case Dtype::kBf16:
      return accumulate_halves(dtype, as_numbers<float>(sums), share, add);
    case Dtype::kI8:
      return accumulate_integers<std::int8_t>(as_numbers<std::int32_t>(sums), share, add);
    case Dtype::kU8:
      return accumulate_integers<std::uint8_t>(as_numbers<std::int32_t>(sums), share, add);
    case Dtype::kI32:
      return accumulate_integers<std::int32_t>(as_numbers<std::int64_t>(sums), share, add);
    default:
      if (add) return sum_into(dtype, sums, share);
      std::copy(share.begin(), share.end(), sums.begin());
  }
}

void divide_sums(Dtype dtype, std::span<const std::byte> sums, std::uint32_t divisor,
                 std::span<std::byte> means) {
  STRETTO_CHECK(divisor > 0);
  check_sizes(dtype, means.size(), sums.size());
  switch (dtype) {
    case Dtype::kF16:
    case Dtype::kBf16:
      return divide_halves(dtype, as_numbers<float>(sums), divisor, means);
    case Dtype::kI8:
      return divide_integer_sums<std::int8_t>(as_numbers<std::int32_t>(sums), divisor, means);
    case Dtype::kU8:
      return divide_integer_sums<std::uint8_t>(as_numbers<std::int32_t>(sums), divisor, means);
    case Dtype::kI32:
      return divide_integer_sums<std::int32_t>(as_numbers<std::int64_t>(sums), divisor, means);
    default:
      if (means.data() != sums.data()) std::copy(sums.begin(), sums.end(), means.begin());
      divide(dtype, means, divisor);
  }
}

}  // namespace stretto::ops
