// SPDX-License-Identifier: Apache-2.0
// What is read together, and how latencies are counted.
#include "input/order/read_plan.h"

#include <gtest/gtest.h>

#include "input/io/latency.h"

namespace stretto::input {
namespace {

TEST(PlanRuns, NeighboursGoTogether) {
  const std::vector<Place> wanted = {
      {0, {300, 100}}, {0, {100, 100}}, {0, {200, 100}}, {1, {0, 50}}, {0, {400, 100}}};
  const auto runs = plan_runs(wanted, 10, 300);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].extent, (Extent{100, 300}));
  EXPECT_EQ(runs[0].wanted, (std::vector<std::uint64_t>{11, 12, 10}));
  EXPECT_EQ(runs[1].wanted, (std::vector<std::uint64_t>{13}));
  EXPECT_EQ(runs[2].wanted, (std::vector<std::uint64_t>{14}));
}

TEST(PlanRuns, SmallGapsAreReadLargeOnesAreNot) {
  EXPECT_EQ(plan_runs(std::vector<Place>{{0, {0, 10}}, {0, {1000, 10}}}, 0, 1 << 20).size(), 1U);
  EXPECT_EQ(plan_runs(std::vector<Place>{{0, {0, 10}}, {0, {9000, 10}}}, 0, 1 << 20).size(), 2U);
}

TEST(PlanRuns, ALargeSampleIsOneRun) {
  const auto runs = plan_runs(std::vector<Place>{{0, {0, 5000}}, {0, {5000, 1}}}, 0, 100);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].extent.bytes, 5000U);
  EXPECT_TRUE(plan_runs({}, 0, 100).empty());
}

TEST(Latencies, PercentilesAreCloseFromAbove) {
  Latencies latencies;
  EXPECT_EQ(latencies.percentile(0.95), 0ns);
  EXPECT_EQ(latencies.mean(), 0ns);
  for (int i = 1; i <= 1000; ++i) latencies.add(std::chrono::microseconds(i));
  EXPECT_EQ(latencies.count(), 1000U);
  EXPECT_EQ(latencies.mean(), 500'500ns);
  for (const int percent : {1, 50, 95, 100}) {
    const double exact = percent * 10'000.0;
    const auto told = static_cast<double>(latencies.percentile(percent / 100.0).count());
    EXPECT_GE(told, exact);
    EXPECT_LE(told, exact * 1.13);
  }
}

}  // namespace
}  // namespace stretto::input
