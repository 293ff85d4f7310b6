// SPDX-License-Identifier: Apache-2.0
// NaN and Inf of every type are found at any position, without false positives.
#include "ops/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace stretto::ops {
namespace {

constexpr double kInfiniteNumber = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct FiniteCase {
  Dtype dtype;
  std::uint64_t bits;
  double value;  // Zero: it is finite.
};

// In the middle of zeros, at an unaligned address.
std::optional<NotFinite> find_among(const FiniteCase& what, std::size_t size, std::size_t index) {
  const std::size_t width = bytes_of(what.dtype);
  std::vector<std::byte> memory(size * width + 1);
  std::memcpy(memory.data() + 1 + index * width, &what.bits, width);  // Little-endian.
  return find_not_finite(what.dtype, std::span(memory).subspan(1));
}

TEST(NotFinite, IsFoundInEveryTypeByItsBits) {
  const FiniteCase cases[] = {{Dtype::kF32, 0x7f800000, kInfiniteNumber},
                              {Dtype::kF32, 0xff800000, -kInfiniteNumber},
                              {Dtype::kF32, 0x7fc00000, kNoNumber},
                              {Dtype::kF32, 0xff800001, kNoNumber},
                              {Dtype::kF32, 0x7f7fffff, 0},
                              {Dtype::kF32, 0x00000001, 0},
                              {Dtype::kF64, 0x7ff0000000000000, kInfiniteNumber},
                              {Dtype::kF64, 0xfff8000000000000, kNoNumber},
                              {Dtype::kF64, 0x7fefffffffffffff, 0},
                              {Dtype::kF16, 0x7c00, kInfiniteNumber},
                              {Dtype::kF16, 0xfc00, -kInfiniteNumber},
                              {Dtype::kF16, 0x7e00, kNoNumber},
                              {Dtype::kF16, 0x7bff, 0},
                              {Dtype::kBf16, 0x7f80, kInfiniteNumber},
                              {Dtype::kBf16, 0xffc0, kNoNumber},
                              {Dtype::kBf16, 0x7f7f, 0},
                              {Dtype::kI32, 0x7f800000, 0},
                              {Dtype::kI64, 0x7ff0000000000000, 0},
                              {Dtype::kU8, 0xff, 0}};
  for (const FiniteCase& what : cases) {
    for (const std::size_t index : {0UL, 1UL, 2047UL, 2048UL, 5000UL, 5002UL}) {
      const std::optional<NotFinite> found = find_among(what, 5003, index);
      ASSERT_EQ(found.has_value(), what.value != 0) << std::hex << what.bits;
      if (!found) continue;
      EXPECT_EQ(found->first, index);
      EXPECT_EQ(found->count, 1U);
      EXPECT_TRUE(std::isnan(what.value) ? std::isnan(found->value) : found->value == what.value);
    }
  }
}

TEST(NotFinite, AllAreCounted) {
  std::vector<float> numbers(10'000, 1.5F);
  const auto look = [&] { return find_not_finite(Dtype::kF32, std::as_bytes(std::span(numbers))); };
  EXPECT_FALSE(look());
  for (const std::size_t index : {77UL, 78UL, 6000UL, 9999UL}) {
    numbers[index] = std::numeric_limits<float>::quiet_NaN();
  }
  EXPECT_EQ(look()->count, 4U);
  EXPECT_EQ(look()->first, 77U);
  numbers.assign(5, std::numeric_limits<float>::infinity());
  EXPECT_EQ(look()->count, 5U);
  numbers.clear();
  EXPECT_FALSE(look());
}

}  // namespace
}  // namespace stretto::ops
