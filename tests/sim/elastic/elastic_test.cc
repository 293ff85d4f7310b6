// SPDX-License-Identifier: Apache-2.0
// Elastic jobs from seeds; a failure prints what replays it.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/log.h"
#include "tests/sim/elastic/elastic_job.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

TEST(ElasticSimulation, EveryValueIsThatOfItsContributorsForEverySeed) {
  set_log_level(Level::kSilent);
  Seeds seeds = seeds_from_environment();
  seeds.count = std::max<std::uint64_t>(1, seeds.count / 4);  // A share of them.
  Replay replay("ElasticSimulation.Every*");
  ElasticJob::Events all;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    ElasticJob job(seed);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation);
    all.joined += job.events().joined;
    all.servers += job.events().servers;
    all.lost += job.events().lost;
    all.noticed += job.events().noticed;
    all.moved += job.events().moved;
  }
  if (seeds.count < 100) return;
  const auto enough = static_cast<int>(seeds.count / 20);
  EXPECT_GT(all.joined, enough);
  EXPECT_GT(all.servers, enough);
  EXPECT_GT(all.lost, enough);
  EXPECT_GT(all.noticed, enough);
  EXPECT_GT(all.moved, enough);
}

}  // namespace
}  // namespace stretto::sim
