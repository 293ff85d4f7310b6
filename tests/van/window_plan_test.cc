// SPDX-License-Identifier: Apache-2.0
// Windows and slices of paths, in both modes and with grants.
#include "van/host_window/window_plan.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

PathEstimate path(double rate, Duration round_trip = 100us) {
  return estimate(rate, round_trip, Duration::zero(), Duration::zero());
}

double milliseconds(std::uint64_t bytes, double rate) {
  return 1e3 * static_cast<double>(bytes) / rate;
}

TEST(WindowPlan, UnknownPathStartsSmall) {
  for (const WindowLimits& bounds : {latency_bounds({}), throughput_bounds({}, 0)}) {
    EXPECT_EQ(bounds.quantum_bytes, 32U << 10);
    EXPECT_EQ(bounds.window_bytes, 64U << 10);
  }
}

TEST(WindowPlan, LatencySliceIsBoundedInTime) {
  EXPECT_EQ(latency_bounds(path(1e6)).quantum_bytes, 16U << 10);
  EXPECT_LE(latency_bounds(path(119e6)).quantum_bytes, 24U << 10);
  EXPECT_EQ(latency_bounds(path(1.19e9)).quantum_bytes, 64U << 10);
  EXPECT_GT(latency_bounds(path(12e9)).quantum_bytes, 512U << 10);
}

TEST(WindowPlan, LatencyWindowIsTwoSlices) {
  const WindowLimits bounds = latency_bounds(path(119e6));
  EXPECT_LT(milliseconds(bounds.window_bytes, 119e6), 0.5);
}

TEST(WindowPlan, LongPathHasItsProductInFlight) {
  const double product = 1.25e9 * 2e-3;
  const WindowLimits bounds = latency_bounds(path(1.25e9, 2ms));
  EXPECT_GT(static_cast<double>(bounds.window_bytes), product);
  EXPECT_LT(static_cast<double>(bounds.window_bytes), 1.5 * product);
}

TEST(WindowPlan, ThroughputWindowIsThreeMilliseconds) {
  const WindowLimits bounds = throughput_bounds(path(119e6), 0);
  EXPECT_NEAR(milliseconds(bounds.quantum_bytes, 119e6), 0.55, 0.05);
  EXPECT_NEAR(milliseconds(bounds.window_bytes, 119e6), 3.2, 0.2);
  EXPECT_EQ(throughput_bounds(path(12e6), 0).quantum_bytes, 64U << 10) << "slow paths, too";
}

TEST(WindowPlan, LoopsThatWaitHaveMoreInFlight) {
  const auto more = [](Duration waits) {
    const WindowLimits bounds = latency_bounds(estimate(119e6, 100us, Duration::zero(), waits));
    return milliseconds(bounds.window_bytes - latency_bounds(path(119e6)).window_bytes, 119e6);
  };
  EXPECT_NEAR(more(500us), 0.5, 0.01);
  EXPECT_NEAR(more(20ms), 1, 0.01) << "no more, or urgent frames would wait for it";
}

TEST(WindowPlan, ThroughputWindowCoversCredits) {
  const PathEstimate waits = estimate(119e6, 100us, 3ms, Duration::zero());
  EXPECT_EQ(latency_bounds(waits).window_bytes, latency_bounds(path(119e6, 100us)).window_bytes);
  const auto window = [](const PathEstimate& path) {
    return static_cast<double>(throughput_bounds(path, 0).window_bytes);
  };
  EXPECT_NEAR(window(waits) - window(path(119e6, 100us)), 1.25 * 119e6 * 3e-3, 8192);
}

// All senders together have as much in flight as their receiver's own window, for any number.
TEST(WindowPlan, GrantsAddUpToOneWindow) {
  for (const double rate : {12e6, 62e6, 119e6, 1.19e9}) {
    const std::uint64_t one = throughput_bounds(path(rate, Duration::zero()), 0).window_bytes;
    for (const std::size_t senders : {2U, 4U, 8U, 32U}) {
      const std::uint64_t granted = granted_window(rate, senders);
      EXPECT_LE(senders * granted, one);
      const WindowLimits bounds = throughput_bounds(path(rate), granted);
      EXPECT_EQ(bounds.window_bytes, granted);
      EXPECT_GE(bounds.quantum_bytes, 16U << 10);
    }
  }
}

TEST(WindowPlan, GrantEnlargesNoWindow) {
  const WindowLimits own = throughput_bounds(path(12e6), 0);
  EXPECT_EQ(throughput_bounds(path(12e6), 1 << 30).window_bytes, own.window_bytes);
  const WindowLimits latency = latency_bounds(path(119e6));
  EXPECT_EQ(limit_latency(latency, 1 << 30, {}).window_bytes, latency.window_bytes);
  const WindowLimits limited = limit_latency(latency, 64 << 10, {});
  EXPECT_LE(limited.window_bytes, 16U << 10);
  EXPECT_LE(limited.quantum_bytes, 16U << 10);
  EXPECT_EQ(limit_latency(latency, 16 << 10, {}).quantum_bytes, 8U << 10);
}

}  // namespace
}  // namespace stretto
