// SPDX-License-Identifier: Apache-2.0
// Lengths of ramps and windows, and which windows are measured again.
#include "input/tuning/window_plan.h"

#include <gtest/gtest.h>

namespace stretto::input {
namespace {

constexpr Knobs kKnobs{8, 256 * 1024};
constexpr double kInFlight = 8 * 256 * 1024;  // Bytes.

// By Little's law as much as was in flight on average.
Window window_of(Duration length, double in_flight, Duration latency) {
  const double rate = in_flight / std::chrono::duration<double>(latency).count();
  const auto bytes =
      static_cast<std::uint64_t>(rate * std::chrono::duration<double>(length).count());
  return {.length = length,
          .delivered_bytes = bytes,
          .p95_latency = latency,
          .mean_latency = latency,
          .consumer_stall = {},
          .requests = 1 + bytes / kKnobs.read_bytes};
}

TEST(WindowPlan, RampCoversInFlightTransferTime) {
  WindowPlan plan({});
  EXPECT_TRUE(plan.is_ramp()) << "so it begins";
  plan.begin_ramp(1'000'000, 1e6);
  EXPECT_TRUE(plan.is_ramp());
  EXPECT_EQ(plan.length(), 1500ms);
  plan.begin_ramp(1'000'000, 0);
  EXPECT_EQ(plan.length(), 50ms) << "nothing is known: a fifth of a window";
  plan.begin_ramp(1'000'000'000, 1);
  EXPECT_EQ(plan.length(), 10s) << "and never longer than the longest";
}

TEST(WindowPlan, AWindowHoldsEnoughRequestsAndLatencies) {
  WindowPlan plan({});
  plan.begin_window({1, 1'000'000}, 32e6);
  EXPECT_FALSE(plan.is_ramp());
  EXPECT_EQ(plan.length(), 1s) << "32 requests";
  plan.begin_window({16, 1'000'000}, 32e6);
  EXPECT_EQ(plan.length(), 4s) << "8 latencies of 16 in flight";
  plan.begin_window({1, 16'384}, 1e9);
  EXPECT_EQ(plan.length(), 250ms);
  plan.begin_window({128, 1'000'000}, 1e6);
  EXPECT_EQ(plan.length(), 10s);
}

TEST(WindowPlan, RepeatsWindowExceedingInFlightBytes) {
  WindowPlan plan({});
  plan.begin_window(kKnobs, 1e9);
  EXPECT_TRUE(plan.is_telling(window_of(250ms, kInFlight, 1ms), kKnobs));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(plan.is_telling(window_of(250ms, 2 * kInFlight, 1ms), kKnobs));
    EXPECT_EQ(plan.length(), 250ms);
  }
  EXPECT_TRUE(plan.is_telling(window_of(250ms, 2 * kInFlight, 1ms), kKnobs)) << "at last it is";
  EXPECT_FALSE(plan.is_telling(window_of(250ms, 2 * kInFlight, 1ms), kKnobs)) << "counted anew";
}

TEST(WindowPlan, WaitsLongerForSlowRequests) {
  WindowPlan plan({});
  plan.begin_window(kKnobs, 1e9);
  EXPECT_TRUE(plan.is_telling(window_of(310ms, kInFlight, 100ms), kKnobs))
      << "above three latencies";
  EXPECT_FALSE(plan.is_telling(window_of(250ms, kInFlight, 100ms), kKnobs));
  EXPECT_EQ(plan.length(), 800ms) << "eight latencies";
  EXPECT_FALSE(plan.is_telling({}, kKnobs)) << "nothing has come";
  EXPECT_EQ(plan.length(), 1600ms) << "twice as long";
}

}  // namespace
}  // namespace stretto::input
