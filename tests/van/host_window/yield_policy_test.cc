// SPDX-License-Identifier: Apache-2.0
// Which traffic yields, for how long, and that yielding always ends.
#include "van/host_window/yield_policy.h"

#include <gtest/gtest.h>

namespace stretto::host {
namespace {

constexpr Time kStart{std::chrono::hours(1)};

WindowShare above(std::int32_t priority, double rest_rate) {
  WindowShare share;
  share.above = priority;
  share.rest_rate = rest_rate;
  return share;
}

TEST(YieldPolicy, HoldsNothingWithoutMoreUrgentProcess) {
  YieldPolicy yielding;
  yielding.set({});
  EXPECT_FALSE(yielding.holds(-100, kStart));
  yielding.on_sent(1 << 20, kStart);
  EXPECT_FALSE(yielding.holds(-100, kStart));
}

TEST(YieldPolicy, LetsTheRestGoAtItsRate) {
  YieldPolicy yielding;
  yielding.set(above(5, 1e6));
  EXPECT_FALSE(yielding.holds(4, kStart));
  yielding.on_sent(10'000, kStart);
  EXPECT_TRUE(yielding.holds(4, kStart + 8ms));
  EXPECT_FALSE(yielding.holds(4, kStart + 10ms));
}

TEST(YieldPolicy, HoldsNothingThatIsAsUrgent) {
  YieldPolicy yielding;
  yielding.set(above(5, 1e6));
  EXPECT_FALSE(yielding.holds(4, kStart));
  yielding.on_sent(10'000, kStart);
  EXPECT_FALSE(yielding.holds(5, kStart));
  yielding.on_sent(1 << 20, kStart);  // Not charged to the rest.
  EXPECT_FALSE(yielding.holds(4, kStart + 10ms));
}

TEST(YieldPolicy, AsksAgainWhenTheRateIsAnother) {
  YieldPolicy yielding;
  yielding.set(above(5, 1e6));
  EXPECT_FALSE(yielding.holds(4, kStart));
  yielding.on_sent(10'000, kStart);
  yielding.set(above(5, 1e7));
  EXPECT_FALSE(yielding.holds(4, kStart + 1ms));
}

// At an unknown rate, or one too small to wait for.
TEST(YieldPolicy, LetsSomethingGoTwentyTimesASecond) {
  for (const double rate : {0.0, 1e-3}) {
    YieldPolicy yielding;
    yielding.set(above(5, rate));
    EXPECT_FALSE(yielding.holds(4, kStart));
    yielding.on_sent(64 << 10, kStart);
    EXPECT_TRUE(yielding.holds(4, kStart + 49ms));
    EXPECT_FALSE(yielding.holds(4, kStart + 50ms));
  }
}

}  // namespace
}  // namespace stretto::host
