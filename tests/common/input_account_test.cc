// SPDX-License-Identifier: Apache-2.0
// Readers' counts are merged, demand is computed from waits, and one limit is divided.
#include "common/input_account.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace stretto {
namespace {

class InputAccountTest : public testing::Test {
 protected:
  /// A second in which the consumer waits for `waits` of the time, and takes `bytes`.
  void pass(InputFeed& feed, Duration waits, std::uint64_t bytes) {
    feed.waits(now_);
    feed.goes_on(now_ + waits);
    feed.delivered(bytes);
    now_ += 1s;
  }
  InputTotals totals() { return account_.totals(now_).value_or(InputTotals()); }

  InputAccount account_;
  Time now_{100s};
};

TEST_F(InputAccountTest, WithoutAReaderThereIsNothingToTell) {
  EXPECT_FALSE(account_.totals(now_).has_value());
  const auto feed = account_.open(now_);
  EXPECT_TRUE(account_.totals(now_).has_value());
}

TEST_F(InputAccountTest, DemandEqualsDeliveryWithoutStalls) {
  const auto feed = account_.open(now_);
  pass(*feed, 0s, 1000);
  const InputTotals all = totals();
  EXPECT_EQ(all.delivered_bytes, 1000U);
  EXPECT_EQ(all.demanded_bytes, 1000U);
  EXPECT_EQ(all.stall, 0s);
  EXPECT_EQ(all.at, now_);
}

TEST_F(InputAccountTest, WhileItWaitsItWouldHaveGoneOnAsFastAsBefore) {
  const auto feed = account_.open(now_);
  pass(*feed, 750ms, 1000);
  EXPECT_NEAR(static_cast<double>(totals().demanded_bytes), 4000, 1);
  EXPECT_EQ(totals().stall, 750ms);
  pass(*feed, 1s, 0);  // Nothing arrives at all.
  EXPECT_NEAR(static_cast<double>(totals().demanded_bytes), 8000, 2);
}

TEST_F(InputAccountTest, BoundsDemandEstimatedDuringStall) {
  const auto feed = account_.open(now_);
  for (std::uint64_t second = 1; second < 4; ++second) {
    pass(*feed, 1s - 1us, second == 1 ? 1000 : 0);
    EXPECT_LE(totals().demanded_bytes, 1000 + second * 32'000);
  }
}

TEST_F(InputAccountTest, NoReadIsLargerThanAllInFlight) {
  const auto feed = account_.open(now_);
  feed->wants(8, 16);  // A possible state while the reader changes both.
  pass(*feed, 0s, 1);
  EXPECT_EQ(totals().in_flight_bytes, 8U);
  EXPECT_EQ(totals().read_bytes, 8U);
}

TEST_F(InputAccountTest, AWaitCountsWhileItLasts) {
  const auto feed = account_.open(now_);
  feed->waits(now_);
  now_ += 1s;
  EXPECT_EQ(totals().stall, 1s);
  EXPECT_EQ(totals().demanded_bytes, 1U) << "it has taken nothing yet, but it wants some";
  now_ += 1s;
  feed->goes_on(now_);
  feed->goes_on(now_);
  EXPECT_EQ(totals().stall, 2s);
}

TEST_F(InputAccountTest, SumsReadersAndKeepsClosedTotals) {
  auto first = account_.open(now_);
  const auto second = account_.open(now_);
  first->requested(2ms);
  second->requested(3ms);
  first->wants(8, 4);
  second->wants(16, 2);
  pass(*first, 0s, 10);
  second->delivered(20);
  EXPECT_EQ(totals().delivered_bytes, 30U);
  EXPECT_EQ(totals().requests, 2U);
  EXPECT_EQ(totals().latency, 5ms);
  EXPECT_EQ(totals().in_flight_bytes, 24U);
  EXPECT_EQ(totals().read_bytes, 4U);
  first->delivered(5);
  first.reset();
  now_ += 1s;
  EXPECT_EQ(totals().delivered_bytes, 35U);
  second->delivered(1);
  now_ += 1s;
  EXPECT_EQ(totals().delivered_bytes, 36U);
  EXPECT_EQ(totals().in_flight_bytes, 16U) << "of those in use";
}

TEST_F(InputAccountTest, CallsSoonAfterOneAnotherGetTheSame) {
  const auto feed = account_.open(now_);
  pass(*feed, 0s, 10);
  const InputTotals before = totals();
  feed->delivered(10);
  now_ += 50ms;
  EXPECT_EQ(totals().delivered_bytes, before.delivered_bytes);
  EXPECT_EQ(totals().at, before.at);
  now_ += 50ms;
  EXPECT_EQ(totals().delivered_bytes, before.delivered_bytes + 10);
}

TEST_F(InputAccountTest, ConcurrentStallsCountOnce) {
  const auto first = account_.open(now_);
  const auto second = account_.open(now_);
  first->waits(now_);
  second->waits(now_);
  now_ += 1s;
  EXPECT_EQ(totals().stall, 1s);
}

TEST_F(InputAccountTest, SharesLimitByReaderDemand) {
  const auto large = account_.open(now_);
  const auto small = account_.open(now_);
  const auto idle = account_.open(now_);
  large->wants(3 << 20, 1 << 18);
  small->wants(1 << 20, 1 << 18);
  idle->wants(1 << 20, 1 << 18);
  large->delivered(1);
  small->delivered(1);
  now_ += 1s;
  totals();
  account_.set_limit(1 << 20);
  EXPECT_EQ(large->limit_bytes(), 3U << 18);
  EXPECT_EQ(small->limit_bytes(), 1U << 18);
  EXPECT_EQ(idle->limit_bytes(), 1U << 20);
  EXPECT_EQ(account_.open(now_)->limit_bytes(), 1U << 20) << "one that comes later";
  account_.set_limit(0);
  EXPECT_EQ(large->limit_bytes(), 0U);
}

TEST_F(InputAccountTest, LimitStarvesNoReader) {
  const auto feed = account_.open(now_);
  account_.set_limit(1);
  EXPECT_EQ(feed->limit_bytes(), 64U * 1024);
  feed->wants(16 << 20, 1 << 20);
  account_.set_limit(1);
  EXPECT_EQ(feed->limit_bytes(), 1U << 20);
  account_.set_limit(std::numeric_limits<std::uint64_t>::max());
  EXPECT_GE(feed->limit_bytes(), std::uint64_t{1} << 59);
}

TEST_F(InputAccountTest, TakesAndTellsOnSeveralThreads) {
  constexpr int kSamples = 20'000;
  const auto feed = account_.open(now_);
  std::jthread consumer([&feed, now = now_] {
    for (int i = 0; i < kSamples; ++i) {
      feed->waits(now + std::chrono::microseconds(2 * i));
      feed->goes_on(now + std::chrono::microseconds(2 * i + 1));
      feed->delivered(1);
    }
  });
  std::uint64_t before = 0;
  Duration stall{};
  for (int i = 0; i < 1000; ++i) {
    now_ += 100ms;
    account_.set_limit(static_cast<std::uint64_t>(i));
    const InputTotals all = totals();
    EXPECT_GE(all.delivered_bytes, before);
    EXPECT_GE(all.stall, stall);
    before = all.delivered_bytes;
    stall = all.stall;
  }
  consumer.join();
  now_ += 1s;
  EXPECT_EQ(totals().delivered_bytes, static_cast<std::uint64_t>(kSamples));
}

TEST(InputAccount, TheProcessHasOneAndMayMakeOthers) {
  EXPECT_EQ(process_input_account(), process_input_account());
  EXPECT_NE(new_input_account(), process_input_account());
}

}  // namespace
}  // namespace stretto
