// SPDX-License-Identifier: Apache-2.0
// Measured rates of links.
#include "worker/peers/rate_estimator.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

/// Bytes leave at some rate for a while, with a sample each millisecond.
class WatchedLinks {
 public:
  void run(double rate, Duration time, bool busy) {
    for (const Time end = now_ + time; now_ < end;) {
      now_ += 1ms;
      taken_ += rate * 1e-3;
      watch.add(static_cast<std::uint64_t>(taken_), busy, now_);
    }
  }
  RateEstimator watch;

 private:
  Time now_{std::chrono::seconds(100)};
  double taken_ = 0;
};

constexpr double kFast = 1e8;
constexpr double kSlow = 2e7;

TEST(RateEstimator, KnowsNothingAtFirst) {
  WatchedLinks links;
  EXPECT_EQ(links.watch.rate(), 0);
  links.run(kFast, 90ms, true);
  EXPECT_EQ(links.watch.rate(), 0) << "four stretches are not enough";
}

/// Two fast peers, then the rest to a slow one, as in each round of unequal hosts.
TEST(RateEstimator, MeasuresPeakRateOfBusyLinks) {
  WatchedLinks links;
  for (int round = 0; round < 5; ++round) {
    links.run(kFast, 100ms, true);
    links.run(kSlow, 200ms, true);
    links.run(0, 50ms, false);
  }
  EXPECT_NEAR(links.watch.rate(), kFast, 0.02 * kFast);
}

TEST(RateEstimator, APauseIsNoRate) {
  WatchedLinks links;
  for (int round = 0; round < 50; ++round) {
    links.run(kFast, 5ms, true);
    links.run(0, 20ms, false);
  }
  EXPECT_EQ(links.watch.rate(), 0) << "the queue ran empty in each stretch";
}

TEST(RateEstimator, OneBurstIsNone) {
  WatchedLinks links;
  links.run(kSlow, 100ms, true);
  links.run(20 * kFast, 20ms, true);  // A peer that had not read for a while.
  links.run(kSlow, 200ms, true);
  EXPECT_NEAR(links.watch.rate(), kSlow, 0.1 * kSlow);
}

TEST(RateEstimator, ForgetsOldRates) {
  WatchedLinks links;
  links.run(kFast, 200ms, true);
  links.run(kSlow, 25s, true);
  EXPECT_NEAR(links.watch.rate(), kSlow, 0.02 * kSlow);
}

/// A reconnected link counts from 0.
TEST(RateEstimator, BytesThatGoBackBeginAnew) {
  RateEstimator watch;
  const Time start{std::chrono::seconds(1)};
  watch.add(1'000'000, true, start);
  watch.add(5, true, start + 30ms);
  watch.add(10, true, start + 60ms);
  EXPECT_EQ(watch.rate(), 0);
}

}  // namespace
}  // namespace stretto
