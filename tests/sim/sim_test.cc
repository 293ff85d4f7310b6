// SPDX-License-Identifier: Apache-2.0
// Jobs from seeds; a failure prints what replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "common/log.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim_cluster.h"

namespace stretto::sim {
namespace {

class Quiet : public testing::Test {
 protected:
  void SetUp() override { set_log_level(Level::kSilent); }
};

using Simulation = Quiet;

TEST_F(Simulation, EveryInvariantHoldsForEverySeed) {
  const auto [first, count] = seeds_from_environment(kFarLess);
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t steps = 0;
  std::uint64_t observed = 0;
  Replay replay("Simulation.Every*");
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    replay.at(seed);
    const Plan plan(seed);
    SimCluster cluster(plan);
    const auto violation = cluster.run();
    steps += cluster.steps();
    observed += cluster.observed();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, plan.describe());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{} seeds, {} steps, {:.0f} seeds per minute\n", count, steps,
             static_cast<double>(count) / took.count() * 60);
  if (count < 100) return;
  EXPECT_GT(observed, count / 10) << "hardly any observer was answered";
}

TEST_F(Simulation, SessionsOutliveTheirLinks) {
  std::uint64_t mended = 0;
  for (std::uint64_t seed = 1; mended < repeated(50U); ++seed) {
    ASSERT_LE(seed, 1000U) << "hardly any link was cut";
    const Plan plan(seed);
    if (!plan.mends()) continue;
    SimCluster cluster(plan);
    const auto violation = cluster.run();
    ASSERT_FALSE(violation.has_value()) << violation->invariant << "\n"
                                        << violation->text << "\n"
                                        << plan.describe();
    mended += cluster.mended();
  }
}

TEST_F(Simulation, ASeedAlwaysTellsTheSameStory) {
  for (std::uint64_t seed = 1; seed <= repeated(100U); ++seed) {
    SimCluster one{Plan(seed)};
    SimCluster two{Plan(seed)};
    ASSERT_FALSE(one.run().has_value()) << "seed " << seed;
    ASSERT_FALSE(two.run().has_value()) << "seed " << seed;
    ASSERT_EQ(one.trace_hash(), two.trace_hash()) << "seed " << seed;
    ASSERT_EQ(one.steps(), two.steps()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto::sim
