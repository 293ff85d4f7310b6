// SPDX-License-Identifier: Apache-2.0
// Programs that make checkpoints, and jobs that go on from them, from seeds; a failure prints what
// replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "tests/sim/replay.h"
#include "tests/sim/saving/saving_job.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

TEST(SavingSimulation, EveryRestoreIsOneCutForEverySeed) {
  set_log_level(Level::kSilent);
  const Seeds seeds = seeds_from_environment();
  Replay replay("SavingSimulation.Every*");
  std::uint64_t resumed = 0;
  std::uint64_t untold = 0;
  std::uint64_t failures = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    SavingJob job(seed);
    const auto violation = job.run();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation, job.describe());
    resumed += job.resumed();
    untold += job.untold();
    failures += job.failures();
  }
  if (seeds.count < 100) return;
  fmt::print(
      "{} jobs went on from checkpoints, {} from one that nobody had been told of, {} were "
      "not made\n",
      resumed, untold, failures);
  EXPECT_GT(resumed, seeds.count / 2);
  EXPECT_GT(untold, seeds.count / 100);
}

}  // namespace
}  // namespace stretto::sim
