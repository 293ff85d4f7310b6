// SPDX-License-Identifier: Apache-2.0
// Means of values or of gradients, where the sum exceeds the range of the element type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ops/half.h"
#include "tests/server/part_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;

/// The bytes as elements of any type.
template <typename Number>
std::vector<Number> as(const Buffer& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}
template <typename Number>
Buffer buffer_of(const std::vector<Number>& numbers) {
  return Buffer::copy_of(std::as_bytes(std::span(numbers)));
}

class StoreMeans : public PartFixture {};

TEST_F(StoreMeans, MeanOfSmallIntegersDoesNotOverflow) {
  make(2, {.update = {.rule = Rule::kMean}}, 2, Dtype::kU8);
  ASSERT_TRUE(share(0, buffer_of<std::uint8_t>({200, 255})).ok());
  ASSERT_TRUE(share(1, buffer_of<std::uint8_t>({200, 254})).ok());
  EXPECT_THAT(as<std::uint8_t>(held().bytes), ElementsAre(200, 254));
}

TEST_F(StoreMeans, AMeanOfHalvesIsRightWhereTheirSumIsInfinite) {
  const std::uint16_t forty_thousand = ops::narrow_to_half(40000);
  for (const bool deterministic : {false, true}) {
    make(2, {.update = {.rule = Rule::kMean}, .deterministic = deterministic}, 1, Dtype::kF16);
    ASSERT_TRUE(share(1, buffer_of<std::uint16_t>({forty_thousand})).ok());
    ASSERT_TRUE(share(0, buffer_of<std::uint16_t>({forty_thousand})).ok());
    EXPECT_THAT(as<std::uint16_t>(held().bytes), ElementsAre(forty_thousand));
  }
}

TEST_F(StoreMeans, AnEagerMeanOfHalvesIsRightToo) {
  make(2, {.mode = Mode::kEager, .update = {.rule = Rule::kMean}}, 1, Dtype::kF16);
  const std::uint16_t forty_thousand = ops::narrow_to_half(40000);
  ASSERT_TRUE(share(0, buffer_of<std::uint16_t>({forty_thousand})).ok());
  ASSERT_TRUE(share(1, buffer_of<std::uint16_t>({forty_thousand})).ok());
  EXPECT_THAT(as<std::uint16_t>(held().bytes), ElementsAre(forty_thousand));
}

TEST_F(StoreMeans, RulesAverageGradientsOfHalvesWithoutOverflow) {
  make(2, {.update = {.rule = Rule::kSgd, .rate = 0.5}}, 1, Dtype::kF16);
  const auto half = [](float value) {
    return buffer_of<std::uint16_t>({ops::narrow_to_half(value)});
  };
  ASSERT_TRUE(share(0, half(40000)).ok());
  ASSERT_TRUE(share(1, half(40000)).ok());
  EXPECT_EQ(ops::widen_half(as<std::uint16_t>(held().bytes).front()), -20000);
}

TEST_F(StoreMeans, ABroadcastOfHalvesIsTheRootsBytes) {
  make(2, {.update = {.rule = Rule::kMean}}, 1, Dtype::kF16);
  ASSERT_TRUE(assign(0, buffer_of<std::uint16_t>({0x3c01})).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  EXPECT_THAT(as<std::uint16_t>(held().bytes), ElementsAre(0x3c01));
}

TEST_F(StoreMeans, AbsentIsZeroInMeanAndSkippedInProduct) {
  const auto share_nothing = [&](Rank rank) {
    return contribute({.worker = fake::node_of(rank), .round = 1, .absent = true, .bytes = {}});
  };
  for (const bool deterministic : {false, true}) {
    for (const Rank absent : {0U, 1U}) {
      make(2, {.update = {.rule = Rule::kMean}, .deterministic = deterministic}, 2, Dtype::kI32);
      ASSERT_TRUE(share_nothing(absent).ok());
      ASSERT_TRUE(share(1 - absent, buffer_of<std::int32_t>({8, 3})).ok());
      EXPECT_THAT(as<std::int32_t>(held().bytes), ElementsAre(4, 1));
      make(2, {.update = {.rule = Rule::kProduct}, .deterministic = deterministic}, 2, Dtype::kI32);
      ASSERT_TRUE(share(1 - absent, buffer_of<std::int32_t>({8, 3})).ok());
      ASSERT_TRUE(share_nothing(absent).ok());
      EXPECT_THAT(as<std::int32_t>(held().bytes), ElementsAre(8, 3));
    }
  }
  make(2, {}, 2, Dtype::kI32);
  ASSERT_TRUE(share_nothing(0).ok());
  ASSERT_TRUE(share_nothing(1).ok());
  EXPECT_THAT(as<std::int32_t>(held().bytes), ElementsAre(0, 0)) << "nobody gave anything";
}

TEST_F(StoreMeans, ListenersDoNotContribute) {
  const auto listen = [&](Rank rank) {
    return contribute(
        {.worker = fake::node_of(rank), .round = 1, .absent = true, .listens = true, .bytes = {}});
  };
  for (const bool deterministic : {false, true}) {
    make(3, {.update = {.rule = Rule::kMean}, .deterministic = deterministic}, 2, Dtype::kI32);
    ASSERT_TRUE(share(0, buffer_of<std::int32_t>({8, 3})).ok());
    ASSERT_TRUE(listen(1).ok());
    ASSERT_TRUE(share(2, buffer_of<std::int32_t>({2, 3})).ok());
    EXPECT_THAT(as<std::int32_t>(held().bytes), ElementsAre(5, 3));
    EXPECT_EQ(held().contributors, 2U);
  }
  make(2, {.update = {.rule = Rule::kMean}}, 2, Dtype::kI32);
  ASSERT_TRUE(listen(0).ok());
  ASSERT_TRUE(listen(1).ok());
  EXPECT_THAT(as<std::int32_t>(held().bytes), ElementsAre(0, 0)) << "nobody gave anything";
  EXPECT_EQ(held().contributors, 0U);
}

}  // namespace
}  // namespace stretto
