// SPDX-License-Identifier: Apache-2.0
// The mean staleness of a job: recent, and under a bound that blocks fast workers.
#include "worker/training/typical_staleness.h"

#include <gtest/gtest.h>

#include "stretto/parameters.h"
#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

TEST(RecentMean, IsThatOfTheLatestFigures) {
  RecentMean mean(10);
  EXPECT_EQ(mean.value(3), 3) << "nothing has come";
  mean.add(8, 4);
  EXPECT_EQ(mean.value(3), 2) << "of fewer, at the beginning";
  mean.add(8, 8);
  EXPECT_EQ(mean.value(3), 1);
  mean.add(8, 18);
  EXPECT_EQ(mean.value(3), 0) << "the first ones are forgotten";
  mean.add(23, 23);
  EXPECT_EQ(mean.value(3), 1) << "of 15, since of the last 5 there are too few";
}

TEST(RecentMean, OfNothingNewIsTheLast) {
  RecentMean mean(1);
  mean.add(6, 3);
  mean.add(6, 3);
  EXPECT_EQ(mean.value(9), 2);
}

using Floats = std::vector<float>;

/// In each round with a bound of 0 worker 1 pushes first, then 2, then 0, all from values of the
/// round before. The wait for worker 0 makes its gradients the only delayed ones.
TEST(TypicalStaleness, BoundedModeUsesObservedStaleness) {
  constexpr std::uint64_t kSteps = 40;
  live::Cluster cluster({.workers = 3});
  cluster.run([](Worker& worker) {
    const Floats first(4, 0);
    Parameters weights =
        Parameters::open(
            worker, {{"w", first}},
            {.mode = Mode::kBounded, .bound = 0, .optimizer = {.rule = Rule::kSgd, .rate = 1}})
            .or_exit();
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, 4, {.mode = Mode::kBounded, .bulk = true}).or_exit();
    const std::uint64_t before_us = (worker.rank() + 2) % 3;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      for (std::uint64_t version = 0; version < 1 + 3 * step + before_us;) {
        const Ticket probe = worker.probe(tensor);
        ASSERT_TRUE(probe.wait().ok());
        version = probe.info().version;
      }
      ASSERT_TRUE(weights.step({Floats(4, 1)}).ok());
      ASSERT_EQ(weights.info().staleness, static_cast<double>(before_us));
    }
    const double factor = weights.info().factor;
    // With a mean of 1, the 2 of worker 0 are twice as much.
    EXPECT_NEAR(factor, worker.rank() == 0 ? 0.5 : 1, 0.1);
    ASSERT_TRUE(weights.finish().ok());
  });
}

}  // namespace
}  // namespace stretto
