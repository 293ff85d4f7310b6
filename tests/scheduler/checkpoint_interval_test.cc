// SPDX-License-Identifier: Apache-2.0
// Young's interval, its bounds, and of whom what is counted.
#include "scheduler/checkpoint/checkpoint_interval.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr Duration kHour = std::chrono::hours(1);

TEST(CheckpointIntervals, IntervalFollowsYoungFormula) {
  EXPECT_EQ(interval_for({.held = 2s}, 4 * kHour), 240s) << "sqrt(2 x 2 x 14,400)";
  EXPECT_EQ(interval_for({.held = 8s}, 4 * kHour), 480s) << "four times the cost, twice as seldom";
  EXPECT_EQ(interval_for({.held = 2s}, kHour), 120s) << "four times the failures, twice as often";
}

TEST(CheckpointIntervals, HoldUpTwoPercentAtMost) {
  EXPECT_EQ(interval_for({.held = 2s}, 60s), 100s);
  EXPECT_EQ(interval_for({.held = 100s}, kHour), 5000s) << "which is more than the hour";
}

TEST(CheckpointIntervals, AreFromTenSecondsToAnHour) {
  EXPECT_EQ(interval_for({}, 4 * kHour), 10s);
  EXPECT_EQ(interval_for({.held = 1ms}, kHour), 10s);
  EXPECT_EQ(interval_for({.held = 60s}, 1000 * kHour), kHour);
}

TEST(CheckpointIntervals, LeaveTheDiskHalfTheTime) {
  EXPECT_EQ(interval_for({.held = 1ms, .written = 40s}, kHour), 80s);
}

TEST(CheckpointIntervals, InvalidCostsAreBounded) {
  EXPECT_EQ(interval_for({.held = -1s, .written = -1s}, kHour), 10s);
  EXPECT_EQ(interval_for({.held = Duration::max()}, kHour), 50 * std::chrono::hours(24));
}

TEST(TimeBetweenFailures, StartsAtPriorAndFollowsFailures) {
  const FailureHistory none{.prior = 4 * kHour};
  EXPECT_EQ(time_between_failures(none, Duration::zero()), 4 * kHour);
  EXPECT_EQ(time_between_failures(none, 20 * kHour), 24 * kHour) << "none for so long";
  const FailureHistory some{.prior = 4 * kHour, .failures = 7, .ran = 3 * kHour};
  EXPECT_EQ(time_between_failures(some, kHour), kHour);
}

class CheckpointIntervalTest : public testing::Test {
 protected:
  CheckpointIntervalTest() { interval_.cut(Time(100s), {7, 8}); }
  std::optional<CheckpointInterval::Choice> take(Duration at = 103s) {
    return interval_.take(Time(at));
  }
  CheckpointInterval interval_{{.prior = 4 * kHour}, Time(0s)};
};

TEST_F(CheckpointIntervalTest, CostIsShortestHoldAmongWorkers) {
  interval_.on_held(7, 9s);
  interval_.on_held(7, 1s);
  interval_.on_held(99, 1s);
  interval_.ended(Time(103s), true);
  EXPECT_FALSE(take()) << "one has not said it";
  interval_.on_held(8, 2s);
  const auto choice = take();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->cost.held, 2s);
  EXPECT_EQ(choice->cost.written, 3s);
  EXPECT_EQ(choice->between_failures, 4 * kHour + 103s);
  EXPECT_EQ(choice->every, interval_for(choice->cost, choice->between_failures));
  EXPECT_TRUE(choice->is_news);
  EXPECT_FALSE(take()) << "it has been taken";
}

TEST_F(CheckpointIntervalTest, IgnoresFailedCheckpoint) {
  interval_.on_held(7, 1s);
  interval_.ended(Time(103s), false);
  interval_.on_held(8, 1s);
  EXPECT_FALSE(take());
}

TEST_F(CheckpointIntervalTest, LostWorkerIsNotAwaited) {
  interval_.on_held(7, 2s);
  interval_.ended(Time(103s), true);
  interval_.on_lost(8);
  EXPECT_TRUE(take());
}

TEST_F(CheckpointIntervalTest, SmoothsCostAndReportsLargeChanges) {
  const auto next = [this](Duration held, Duration written) {
    interval_.cut(Time(100s), {7});
    interval_.on_held(7, held);
    interval_.ended(Time(100s + written), true);
    return *take(100s);
  };
  EXPECT_TRUE(next(2s, 4s).is_news);
  const CheckpointInterval::Choice second = next(6s, 8s);
  EXPECT_EQ(second.cost.held, 3s);
  EXPECT_EQ(second.cost.written, 5s);
  EXPECT_FALSE(second.is_news);
  const CheckpointInterval::Choice third = next(23s, 5s);
  EXPECT_EQ(third.cost.held, 8s);
  EXPECT_TRUE(third.is_news) << "four times the cost of the first";
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(next(0s, 5s).is_news);
  EXPECT_TRUE(next(0s, 5s).is_news) << "three quarters to the fifth, less than a quarter";
}

}  // namespace
}  // namespace stretto
