// SPDX-License-Identifier: Apache-2.0
// The steps of a search, on surfaces that are formulas without noise.
#include "input/tuning/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace stretto::input {
namespace {

/// Measures what the search proposes on a surface of bytes a second.
class SearchTest : public ::testing::Test {
 protected:
  void measure(Point point) {
    const double rate = surface_(grid_.knobs(point));
    const double latency = occupancy_ * static_cast<double>(grid_.bytes_in_flight(point)) / rate;
    for (int i = 0; i < 2; ++i) {
      evidence_.add(point, {.length = 1s,
                            .delivered_bytes = static_cast<std::uint64_t>(rate),
                            .p95_latency = {},
                            .mean_latency = std::chrono::duration_cast<Duration>(
                                std::chrono::duration<double>(latency)),
                            .consumer_stall = 1s,
                            .requests = 100});
    }
  }

  int climb() {
    measure(grid_.first());
    search_.start(grid_.first());
    int probes = 1;
    for (auto proposal = search_.climb(); proposal; proposal = search_.climb()) {
      EXPECT_TRUE(grid_.permits(proposal->point)) << proposal->reason;
      EXPECT_EQ(evidence_.find(proposal->point), nullptr) << "nothing is measured twice";
      measure(proposal->point);
      search_.tell(*proposal);
      ++probes;
    }
    return probes;
  }

  std::function<double(Knobs)> surface_;
  double occupancy_ = 1;
  Grid grid_{{}};
  Measurements evidence_{grid_, Duration::max()};
  Search search_{grid_, evidence_};
};

TEST_F(SearchTest, APlateauIsLeftAfterTwoSteps) {
  surface_ = [](Knobs) { return 1e9; };
  EXPECT_EQ(climb(), 3) << "the first, more depth, larger reads";
  EXPECT_EQ(search_.best(), grid_.first());
}

TEST_F(SearchTest, StepsDoubleWhileTheyGain) {
  surface_ = [](Knobs knobs) { return 1e4 * static_cast<double>(bytes_in_flight(knobs)); };
  EXPECT_LE(climb(), 8);
  EXPECT_EQ(grid_.bytes_in_flight(search_.best()), 256U << 20) << "all the memory";
}

TEST_F(SearchTest, AHillBetweenTwoStepsIsFound) {
  surface_ = [](Knobs knobs) { return 1e9 / (1 + std::abs(std::log2(knobs.depth / 12.0))); };
  climb();
  EXPECT_EQ(grid_.knobs(search_.best()).depth, 16U);
}

TEST_F(SearchTest, GoesBackWhereGoingOnWasWorse) {
  surface_ = [](Knobs knobs) { return 1e9 / knobs.depth; };
  climb();
  EXPECT_EQ(grid_.knobs(search_.best()).depth, 1U);
}

TEST_F(SearchTest, DepthThatIsNotUsedIsNotRaised) {
  surface_ = [](Knobs) { return 1e9; };
  occupancy_ = 0.2;
  EXPECT_EQ(climb(), 2) << "the first, and larger reads";
}

TEST_F(SearchTest, DiagonalsFollowTheEdgeOfTheMemory) {
  TunerLimits limits;
  limits.memory_bytes = 2 << 20;
  grid_ = Grid(limits);
  // Every request has a cost: with two MiB in flight, larger reads are better.
  surface_ = [](Knobs knobs) {
    return static_cast<double>(bytes_in_flight(knobs)) / (1e-3 + knobs.read_bytes / 1e9) *
           std::min(1.0, 4.0 / knobs.depth);
  };
  climb();
  EXPECT_EQ(grid_.knobs(search_.best()), (Knobs{4, 512 * 1024}));
}

TEST_F(SearchTest, ShrinksToTheKnee) {
  surface_ = [](Knobs knobs) {
    return 1e9 * std::min(1.0, static_cast<double>(bytes_in_flight(knobs)) / (1 << 20));
  };
  climb();
  int probes = 0;
  for (auto proposal = search_.shrink(); proposal; proposal = search_.shrink()) {
    measure(proposal->point);
    search_.tell(*proposal);
    ++probes;
  }
  EXPECT_EQ(grid_.bytes_in_flight(search_.knee()), 1U << 20);
  EXPECT_LE(probes, 6);
}

TEST_F(SearchTest, ALuckyMeasurementDoesNotStayTheBest) {
  const Point lucky{3, 4};
  const Point sure{4, 4};
  const auto add = [this](Point point, double rate) {
    evidence_.add(point, {.length = 1s,
                          .delivered_bytes = static_cast<std::uint64_t>(rate),
                          .p95_latency = {},
                          .mean_latency = 10ms,
                          .consumer_stall = 1s,
                          .requests = 100});
  };
  add(lucky, 1.02e9);
  for (const double rate : {0.9e9, 1.0e9, 1.1e9, 0.95e9, 1.05e9, 1.0e9}) add(sure, rate);
  search_.start(lucky);
  EXPECT_EQ(search_.tell({sure, {1, 0}, 1, ""}), Verdict::kAlike);
  EXPECT_TRUE(search_.reconsider());
  EXPECT_EQ(search_.best(), sure);
  EXPECT_FALSE(search_.reconsider());
}

TEST_F(SearchTest, LeapsToWhereTheMemoryEnds) {
  const std::optional<Proposal> leap = search_.leap();
  ASSERT_TRUE(leap);
  EXPECT_EQ(grid_.knobs(leap->point), (Knobs{16, 16 << 20}));
  surface_ = [](Knobs) { return 1e9; };
  measure(leap->point);
  EXPECT_FALSE(search_.leap());
  const Grid small({.most = {128, 128 << 10}, .memory_bytes = 1 << 20});
  EXPECT_EQ(small.knobs(Search(small, evidence_).leap()->point), (Knobs{8, 128 << 10}));
}

}  // namespace
}  // namespace stretto::input
