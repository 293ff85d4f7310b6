// SPDX-License-Identifier: Apache-2.0
// Medians, noise, and what may be said of two points.
#include "input/tuning/measurements.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stretto::input {
namespace {

Window window_of(double megabytes_per_second, Duration latency = 10ms) {
  return {.length = 1s,
          .delivered_bytes = static_cast<std::uint64_t>(megabytes_per_second * 1e6),
          .p95_latency = 2 * latency,
          .mean_latency = latency,
          .consumer_stall = 500ms,
          .requests = 100};
}

class MeasurementsTest : public ::testing::Test {
 protected:
  void add(Point point, std::initializer_list<double> rates, Duration latency = 10ms) {
    for (const double rate : rates) evidence_.add(point, window_of(rate, latency));
  }
  const Estimate& of(Point point) const { return *evidence_.find(point); }

  Grid grid_{{}};
  Measurements evidence_{grid_, 100ms};
};

TEST_F(MeasurementsTest, TakesTheMedianAgainstSpikes) {
  add({0, 0}, {100, 101, 3});
  EXPECT_DOUBLE_EQ(of({0, 0}).rate, 100e6);
  EXPECT_DOUBLE_EQ(of({0, 0}).stall, 0.5);
  EXPECT_EQ(evidence_.find({1, 1}), nullptr);
}

TEST_F(MeasurementsTest, NoisePoolsSpreadWithinPoints) {
  EXPECT_GT(evidence_.noise(), 0.01) << "unknown: a guess";
  add({0, 0}, {100, 110, 90});
  EXPECT_NEAR(evidence_.noise(), 0.1, 1e-9);
  add({0, 1}, {200, 200, 200});
  EXPECT_NEAR(evidence_.noise(), 0.1 / std::sqrt(2), 1e-9) << "pooled";
  evidence_.forget();
  EXPECT_TRUE(evidence_.all().empty());
  EXPECT_NEAR(evidence_.noise(), 0.1 / std::sqrt(2), 1e-9) << "the noise is not forgotten";
}

TEST_F(MeasurementsTest, MoreWindowsMakeSurer) {
  add({0, 0}, {100, 110, 90});
  add({0, 1}, {100, 110, 90, 100, 110, 90, 100, 110, 90});
  EXPECT_LT(evidence_.error(of({0, 1})), evidence_.error(of({0, 0})));
}

TEST_F(MeasurementsTest, ComparesAsFarAsTheNoisePermits) {
  add({0, 0}, {100, 110, 90});
  add({0, 1}, {105});
  add({0, 2}, {150});
  EXPECT_EQ(evidence_.compare(of({0, 1}), of({0, 0})), Verdict::kAlike);
  EXPECT_EQ(evidence_.compare(of({0, 2}), of({0, 0})), Verdict::kBetter);
  EXPECT_EQ(evidence_.compare(of({0, 0}), of({0, 2})), Verdict::kWorse);
  EXPECT_FALSE(evidence_.decided(of({0, 1}), of({0, 0}), 0.01));
  EXPECT_TRUE(evidence_.decided(of({0, 2}), of({0, 0}), 0.01));
}

TEST_F(MeasurementsTest, TooSlowSettingIsNeverBetter) {
  add({0, 0}, {100, 100}, 10ms);
  add({0, 1}, {900, 900}, 60ms);  // p95 120 ms.
  add({0, 2}, {900, 900}, 80ms);
  EXPECT_EQ(evidence_.compare(of({0, 0}), of({0, 1})), Verdict::kBetter);
  EXPECT_EQ(evidence_.compare(of({0, 1}), of({0, 2})), Verdict::kBetter) << "less too slow";
}

TEST_F(MeasurementsTest, OccupancyIsByLittlesLaw) {
  const Point point = grid_.nearest({8, 256 * 1024});
  // 100 MB/s for 10 ms are a megabyte in flight, of two.
  add(point, {100}, 10ms);
  EXPECT_NEAR(of(point).occupancy, 1e6 / (2 << 20), 1e-9);
}

}  // namespace
}  // namespace stretto::input
