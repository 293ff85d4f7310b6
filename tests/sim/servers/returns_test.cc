// SPDX-License-Identifier: Apache-2.0
// Jobs whose servers are lost and restart, from seeds; a failure prints the replay command.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"
#include "tests/sim/servers/returns_job.h"

namespace stretto::sim {
namespace {

void run_all(std::uint32_t replicas, const char* test) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment();
  Replay replay(test);
  std::uint64_t lost = 0;
  std::uint64_t returned = 0;
  std::uint64_t values = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    ReturnsJob job(seed, replicas);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    lost += job.lost();
    returned += job.returned();
    values += job.values();
  }
  if (seeds.count < 100) return;
  fmt::print("{} servers were lost, {} came back, {} values were right\n", lost, returned, values);
  EXPECT_GT(returned, seeds.count / 2);
  EXPECT_GT(values, seeds.count * 10);
}

void run_schedulers(std::uint32_t replicas, const char* test) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment();
  Replay replay(test);
  std::uint64_t schedulers = 0;
  std::uint64_t returned = 0;
  std::uint64_t values = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    ReturnsJob job(seed, replicas, true);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    schedulers += job.schedulers();
    returned += job.returned();
    values += job.values();
  }
  if (seeds.count < 100) return;
  fmt::print("{} schedulers and {} servers came back, {} values were right\n", schedulers, returned,
             values);
  EXPECT_GT(schedulers, seeds.count / 2);
  EXPECT_GT(values, seeds.count * 10);
}

TEST(ReturnsSimulation, EverySumIsExactForEverySeed) { run_all(1, "ReturnsSimulation.Every*"); }

TEST(StandbySimulation, EveryContributionCountsOnceForEverySeed) {
  run_all(2, "StandbySimulation.Every*");
}

void run_moves(bool joins, const char* test) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment();
  Replay replay(test);
  std::uint64_t lost = 0;
  std::uint64_t moved = 0;
  std::uint64_t values = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    ReturnsJob job(seed, 1, seed % 4 == 0, true, joins);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    lost += job.lost();
    moved += job.moved();
    values += job.values();
  }
  if (seeds.count < 100) return;
  fmt::print("{} places were handed over, {} servers were lost, {} values were right\n", moved,
             lost, values);
  EXPECT_GT(moved, seeds.count / 2);
  EXPECT_GT(lost, seeds.count / 4);
  EXPECT_GT(values, seeds.count * 10);
}

// Servers are migrated while primaries and replacements are lost.
TEST(MovesSimulation, EveryContributionCountsOnceForEverySeed) {
  run_moves(false, "MovesSimulation.Every*");
}

// As above, while external servers join unasked.
TEST(JoinsSimulation, EveryContributionCountsOnceForEverySeed) {
  run_moves(true, "JoinsSimulation.Every*");
}

// All agreements of the members with previous schedulers must still hold.
TEST(SchedulerReturnsSimulation, EverySumIsExactForEverySeed) {
  run_schedulers(1, "SchedulerReturnsSimulation.Every*");
}

// Crashes of servers and of the scheduler, in either order and at the same time.
TEST(SchedulerStandbySimulation, EveryContributionCountsOnceForEverySeed) {
  run_schedulers(2, "SchedulerStandbySimulation.Every*");
}

}  // namespace
}  // namespace stretto::sim
