// SPDX-License-Identifier: Apache-2.0
// Random jobs whose workers exchange among themselves; a failure prints how to replay it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "tests/sim/among/among_job.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

// A calm seed with timing-independent results is run again with another timing.
TEST(AmongSimulation, EveryCallSucceedsOrEndsWithReason) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment(kFarLess);
  Replay replay("AmongSimulation.Every*");
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    AmongJob job(seed);
    auto violation = job.run();
    std::string told = job.describe();
    if (!violation && job.plan().is_calm() && job.has_fixed_values()) {
      AmongJob again(seed, 1);
      violation = again.run();
      told = again.describe();
      if (!violation && job.fixed_values() != again.fixed_values()) {
        violation = Violation{"fixed orders make the same bits", "another timing made others"};
      }
    }
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, told);
  }
}

TEST(AmongSimulation, ASeedAlwaysTellsTheSameStory) {
  set_log_level(Level::kSilent);
  for (std::uint64_t seed = 1; seed <= repeated(30U); ++seed) {
    AmongJob one(seed);
    AmongJob other(seed);
    ASSERT_FALSE(one.run().has_value()) << seed;
    ASSERT_FALSE(other.run().has_value()) << seed;
    ASSERT_EQ(one.trace_hash(), other.trace_hash()) << seed;
  }
}

}  // namespace
}  // namespace stretto::sim
