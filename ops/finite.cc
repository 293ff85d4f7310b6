// SPDX-License-Identifier: Apache-2.0
// By the bits: all ones in the exponent are Inf or NaN.
#include "ops/finite.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace stretto::ops {
namespace {

constexpr std::size_t kBlock = 2048;  // Elements between two looks.

template <typename Bits>
bool has_any(const std::byte* elements, std::size_t count, Bits exponent) {
  std::array<Bits, kBlock> bits;  // Copied, as the elements need not be aligned.
  std::memcpy(bits.data(), elements, count * sizeof(Bits));
  Bits any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    any = static_cast<Bits>(any | ((bits[i] & exponent) == exponent ? 1 : 0));
  }
  return any != 0;
}

template <typename Bits>
Bits element_at(std::span<const std::byte> elements, std::size_t index) {
  Bits bits;
  std::memcpy(&bits, elements.data() + index * sizeof(Bits), sizeof bits);
  return bits;
}

double value_of(Dtype dtype, std::span<const std::byte> elements, std::size_t index) {
  if (dtype == Dtype::kF64) {
    double value;
    std::memcpy(&value, elements.data() + index * sizeof value, sizeof value);
    return value;
  }
  if (dtype == Dtype::kF32) {
    float value;
    std::memcpy(&value, elements.data() + index * sizeof value, sizeof value);
    return value;
  }
  const auto bits = element_at<std::uint16_t>(elements, index);
  const bool is_nan = (bits & (dtype == Dtype::kF16 ? 0x3ff : 0x7f)) != 0;
  const double infinite = std::numeric_limits<double>::infinity();
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -infinite : infinite;
}

template <typename Bits>
std::optional<NotFinite> find(Dtype dtype, std::span<const std::byte> elements, Bits exponent) {
  const std::size_t size = elements.size() / sizeof(Bits);
  std::optional<NotFinite> found;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t count = std::min(kBlock, size - begin);
    if (!has_any<Bits>(elements.data() + begin * sizeof(Bits), count, exponent)) continue;
    for (std::size_t i = begin; i < begin + count; ++i) {
      if ((element_at<Bits>(elements, i) & exponent) != exponent) continue;
      if (!found) found = {.count = 0, .first = i, .value = value_of(dtype, elements, i)};
      ++found->count;
    }
  }
  return found;
}

}  // namespace

std::optional<NotFinite> find_not_finite(Dtype dtype, std::span<const std::byte> elements) {
  switch (dtype) {
    case Dtype::kF32:
      return find<std::uint32_t>(dtype, elements, 0x7f800000);
    case Dtype::kF64:
      return find<std::uint64_t>(dtype, elements, 0x7ff0000000000000);
    case Dtype::kF16:
      return find<std::uint16_t>(dtype, elements, 0x7c00);
    case Dtype::kBf16:
      return find<std::uint16_t>(dtype, elements, 0x7f80);
    default:
      return {};
  }
}

}  // namespace stretto::ops
