// SPDX-License-Identifier: Apache-2.0
// Exchange among members from seeds; a failure prints what replays it.
#include <gtest/gtest.h>

#include "tests/sim/collective/group_job.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

TEST(CollectiveSimulation, EveryRoundIsThatOfItsContributorsForEverySeed) {
  const Seeds seeds = seeds_from_environment();
  Replay replay("CollectiveSimulation.Every*");
  GroupJob::Events all;
  int same_bits = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    const GroupPlan plan(seed);
    GroupJob job(plan, seed);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation);
    all.lost += job.events().lost;
    all.given_again += job.events().given_again;
    all.made_again += job.events().made_again;
    all.early += job.events().early;
    all.twice += job.events().twice;
    if (plan.order != collective::Reduction::Order::kPlaces || !plan.losses.empty()) continue;
    GroupJob otherwise(plan, seed + 1);
    ASSERT_FALSE(otherwise.run().has_value());
    ASSERT_EQ(job.values(), otherwise.values()) << "invariant: the order of arrival does not show\n"
                                                << plan.describe() << "\n"
                                                << replay.command();
    ++same_bits;
  }
  if (seeds.count < 100) return;
  const auto enough = static_cast<int>(seeds.count / 20);
  EXPECT_GT(all.lost, enough);
  EXPECT_GT(all.given_again, enough);
  EXPECT_GT(all.made_again, enough);
  EXPECT_GT(all.early, enough);
  EXPECT_GT(all.twice, enough);
  EXPECT_GT(same_bits, enough);
}

}  // namespace
}  // namespace stretto::sim
