// SPDX-License-Identifier: Apache-2.0
// Elastic jobs that lose workers, from seeds; a failure prints the command that replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/log.h"
#include "tests/sim/losses/history_checker.h"
#include "tests/sim/losses/loss_job.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

TEST(LossSimulation, EverySurvivorGoesOnWithExactSumsForEverySeed) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("LossSimulation.Every*");
  std::uint64_t lost = 0;
  std::uint64_t went_on = 0;
  LossVisits visits;
  std::uint64_t joined = 0;
  std::uint64_t came_again = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    LossJob job(seed);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    lost += job.lost();
    went_on += job.went_on() ? 1 : 0;
    visits.add(job.visits());
    joined += job.joined();
    came_again += job.came_again();
  }
  if (seeds.count < 100) return;
  fmt::print("What befell workers in each phase, and while a loss was yet to be noticed:\n{}\n",
             visits.table());
  EXPECT_GT(lost, seeds.count / 2);
  EXPECT_GT(went_on, seeds.count / 8);
  EXPECT_GT(joined, seeds.count / 32);
  EXPECT_GT(came_again, seeds.count / 200);
}

// In this seed a worker leaves, and a peer that knows this keeps no session for it. Their link is
// reset before the leave is acknowledged: this was mistaken for a broken link.
TEST(LossSimulation, ALinkThatIsResetUnderAFarewellIsNoLoss) {
  set_log_level(Level::kSilent);
  LossJob job(900473);
  const auto violation = job.run();
  EXPECT_FALSE(violation.has_value()) << job.describe();
}

// Servers are lost as well, and their standbys are promoted.
TEST(ElasticStandbySimulation, EverySurvivorGoesOnWithExactSumsForEverySeed) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("ElasticStandbySimulation.Every*");
  std::uint64_t servers = 0;
  std::uint64_t started = 0;
  std::uint64_t lost = 0;
  std::uint64_t joined = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    LossJob job(seed, LossJob::Watched::kByUsers, 2);
    auto violation = job.run();
    if (!violation) violation = HistoryChecker(job.history()).check();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    servers += job.servers().lost();
    started += job.servers().started();
    lost += job.lost();
    joined += job.joined();
  }
  if (seeds.count < 100) return;
  fmt::print("{} servers were lost and {} came, {} workers were lost and {} came\n", servers,
             started, lost, joined);
  EXPECT_GT(servers, seeds.count / 2);
  EXPECT_GT(started, seeds.count / 8);
  EXPECT_GT(lost, seeds.count / 2);
  EXPECT_GT(joined, seeds.count / 32);
}

// Servers are migrated with all of their shards while workers are lost, leave and join. Some
// replacements are lost.
TEST(ElasticMovesSimulation, EverySurvivorGoesOnWithExactSumsForEverySeed) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("ElasticMovesSimulation.Every*");
  std::uint64_t moved = 0;
  std::uint64_t heirs = 0;
  std::uint64_t servers = 0;
  std::uint64_t lost = 0;
  std::uint64_t joined = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    LossJob job(seed, LossJob::Watched::kByUsers, 1, LossPlan::Beside::kMoves);
    auto violation = job.run();
    heirs += job.servers().has_lost_heir() ? 1 : 0;
    if (!violation && !job.servers().has_lost_heir())
      violation = HistoryChecker(job.history()).check();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    moved += job.moved();
    servers += job.servers().lost();
    lost += job.lost();
    joined += job.joined();
  }
  if (seeds.count < 100) return;
  fmt::print("{} places moved, {} servers that were to have one, {} workers were lost, {} came\n",
             moved, servers, lost, joined);
  EXPECT_GT(moved, seeds.count / 2);
  EXPECT_LT(heirs, seeds.count / 16) << "jobs that ended as one was lost that just had a place";
  EXPECT_GT(servers, seeds.count / 16);
  EXPECT_GT(lost, seeds.count / 2);
  EXPECT_GT(joined, seeds.count / 32);
}

// The scheduler is lost as well and restarts from its journal. Servers are lost too in every second
// job.
TEST(ElasticReturnsSimulation, EverySurvivorGoesOnWithExactSumsForEverySeed) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("ElasticReturnsSimulation.Every*");
  std::uint64_t schedulers = 0;
  std::uint64_t servers = 0;
  std::uint64_t lost = 0;
  std::uint64_t joined = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    LossJob job(seed, LossJob::Watched::kByUsers, 1 + seed % 2, LossPlan::Beside::kScheduler);
    auto violation = job.run();
    if (!violation) violation = HistoryChecker(job.history()).check();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    schedulers += job.schedulers();
    servers += job.servers().lost();
    lost += job.lost();
    joined += job.joined();
  }
  if (seeds.count < 100) return;
  fmt::print("{} schedulers came back, {} servers and {} workers were lost, {} workers came\n",
             schedulers, servers, lost, joined);
  EXPECT_GT(schedulers, seeds.count / 2);
  EXPECT_GT(servers, seeds.count / 8);
  EXPECT_GT(lost, seeds.count / 2);
  EXPECT_GT(joined, seeds.count / 32);
}

// Only the history is judged; the users check nothing while the jobs run.
TEST(HistorySimulation, EveryHistoryKeepsTheContract) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("HistorySimulation.Every*");
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    LossJob job(seed, LossJob::Watched::kByNobody);
    job.run();
    const auto violation = HistoryChecker(job.history()).check();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
  }
}

}  // namespace
}  // namespace stretto::sim
