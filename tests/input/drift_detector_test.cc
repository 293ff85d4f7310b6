// SPDX-License-Identifier: Apache-2.0
// The measurements that count as a change of the device.
#include "input/tuning/drift_detector.h"

#include <gtest/gtest.h>

#include <random>

namespace stretto::input {
namespace {

Window steady_window(double rate, double latency_s = 0.01) {
  return {.length = 1s,
          .delivered_bytes = static_cast<std::uint64_t>(rate),
          .p95_latency = {},
          .mean_latency =
              std::chrono::duration_cast<Duration>(std::chrono::duration<double>(latency_s)),
          .consumer_stall = 1s,
          .requests = 100};
}

class DriftDetectorTest : public ::testing::Test {
 protected:
  DriftDetectorTest() { drift_.restart(1e9, 0.01, 0.02); }
  /// Windows until the change is detected; -1 if not within `most` windows.
  int noticed_after(double rate, double latency_s, int most = 10) {
    for (int i = 1; i <= most; ++i) {
      if (drift_.add(steady_window(rate, latency_s))) return i;
    }
    return -1;
  }
  DriftDetector drift_;
};

TEST_F(DriftDetectorTest, ThreeWindowsOutsideAreAChange) {
  EXPECT_EQ(noticed_after(0.8e9, 0.01), 3);
  EXPECT_EQ(drift_.recent().size(), 2U) << "the first may lie half before it";
}

TEST_F(DriftDetectorTest, BothWaysAndOfTheLatencyToo) {
  EXPECT_EQ(noticed_after(1.2e9, 0.01), 3);
  drift_.restart(1e9, 0.01, 0.02);
  EXPECT_EQ(noticed_after(1e9, 0.02), 3);
}

TEST_F(DriftDetectorTest, SmallChangesAreNotWorthASearch) {
  EXPECT_EQ(noticed_after(0.96e9, 0.01), -1);
}

TEST_F(DriftDetectorTest, SpikesAreNoChange) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(drift_.add(steady_window(i % 3 == 0 ? 1e9 : 0.5e9)));
}

TEST_F(DriftDetectorTest, ASlowWalkIsNoticedWhenItHasGoneFar) {
  double rate = 1e9;
  bool noticed = false;
  for (int i = 0; i < 500 && !noticed; ++i) noticed = drift_.add(steady_window(rate *= 0.999));
  EXPECT_TRUE(noticed);
  EXPECT_GT(rate, 0.75e9);
}

TEST_F(DriftDetectorTest, NoiseIsNoChange) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  drift_.restart(1e9, 0.01, 0.1);
  for (int i = 0; i < 2000; ++i) {
    const double factor = 1 + 0.1 * normal(random);
    ASSERT_FALSE(drift_.add(steady_window(1e9 * factor, 0.01 / factor))) << i;
  }
}

}  // namespace
}  // namespace stretto::input
