// SPDX-License-Identifier: Apache-2.0
// Means whose sums the element type cannot hold, against plain arithmetic.
#include "ops/mean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/half.h"

namespace stretto::ops {
namespace {

using testing::Each;
using testing::ElementsAre;

/// The mean of as many shares as there are vectors.
template <typename Number>
std::vector<Number> mean_of(Dtype dtype, const std::vector<std::vector<Number>>& shares) {
  const std::size_t count = shares.front().size();
  std::vector<std::int64_t> memory(count);  // Aligned for any type.
  const auto sums =
      std::as_writable_bytes(std::span(memory)).first(count * bytes_of(dtype_of_sums(dtype)));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    accumulate(dtype, sums, std::as_bytes(std::span(shares[i])), i > 0);
  }
  std::vector<Number> means(count);
  divide_sums(dtype, sums, static_cast<std::uint32_t>(shares.size()),
              std::as_writable_bytes(std::span(means)));
  return means;
}

template <typename Integer>
void expect_extremes_are_their_own_means(Dtype dtype) {
  constexpr Integer kLeast = std::numeric_limits<Integer>::min();
  constexpr Integer kMost = std::numeric_limits<Integer>::max();
  const std::vector<std::vector<Integer>> shares(1000, {kLeast, kMost, 1});
  EXPECT_THAT(mean_of(dtype, shares), ElementsAre(kLeast, kMost, 1));
}

TEST(Mean, OfTheLargestIntegersIsThem) {
  expect_extremes_are_their_own_means<std::int8_t>(Dtype::kI8);
  expect_extremes_are_their_own_means<std::uint8_t>(Dtype::kU8);
  expect_extremes_are_their_own_means<std::int32_t>(Dtype::kI32);
}

TEST(Mean, OfIntegersIsRoundedDown) {
  EXPECT_THAT(mean_of<std::int8_t>(Dtype::kI8, {{7, -7, 1, -1}, {0, 0, 1, -2}}),
              ElementsAre(3, -4, 1, -2));
  EXPECT_THAT(mean_of<std::int64_t>(Dtype::kI64, {{7, -7}, {0, 0}}), ElementsAre(3, -4));
  EXPECT_EQ(mean_of<std::uint8_t>(Dtype::kU8, {{200}, {200}}).front(), 200);
}

TEST(Mean, OfHalvesIsRoundedOnce) {
  const std::uint16_t large = narrow_to_half(65504);
  const std::uint16_t one = narrow_to_half(1);
  const std::uint16_t tiny = narrow_to_half(0x1p-11F);  // Lost if it is added to 1 in f16.
  std::vector<std::vector<std::uint16_t>> shares(4, {large, tiny});
  shares.front()[1] = one;
  const auto mean = mean_of(Dtype::kF16, shares);
  EXPECT_EQ(mean[0], large);
  EXPECT_EQ(mean[1], narrow_to_half((1 + 3 * 0x1p-11F) / 4));
}

TEST(Mean, OfBf16IsRoundedOnce) {
  constexpr std::uint16_t kOne = 0x3f80;
  constexpr std::uint16_t kTiny = 0x3b80;  // 2^-8: lost if it is added to 1 in bf16.
  std::vector<std::vector<std::uint16_t>> shares(4, {kTiny});
  shares.front()[0] = kOne;
  const float exact = (1 + 3 * 0x1p-8F) / 4;
  const auto bits = std::bit_cast<std::uint32_t>(exact);
  const auto nearest = static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  EXPECT_EQ(mean_of(Dtype::kBf16, shares).front(), nearest);
}

TEST(Mean, OfMoreThanOnePieceIsThatOfEach) {
  const std::vector<std::vector<std::uint16_t>> shares(
      3, std::vector<std::uint16_t>(2500, narrow_to_half(40000)));
  EXPECT_THAT(mean_of(Dtype::kF16, shares), Each(narrow_to_half(40000)));
}

TEST(Mean, OfFloatsIsInTheirOwnType) {
  EXPECT_EQ(dtype_of_sums(Dtype::kF32), Dtype::kF32);
  EXPECT_THAT(mean_of<float>(Dtype::kF32, {{1, 5}, {2, 6}}), ElementsAre(1.5F, 5.5F));
  EXPECT_THAT(mean_of<double>(Dtype::kF64, {{1, 5}, {2, 6}}), ElementsAre(1.5, 5.5));
}

}  // namespace
}  // namespace stretto::ops
