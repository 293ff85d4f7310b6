// SPDX-License-Identifier: Apache-2.0
// What counts as stale, and what as usual, without a worker.
#include "worker/training/damping.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Damping, IsRelativeUnlessARuleIsGiven) {
  EXPECT_EQ(Damping(nullptr, 3, false).rule().name(), "relative");
  EXPECT_EQ(Damping(inverse_rate(), 3, false).rule().name(), "inverse");
}

TEST(Damping, NeedNotKnowTheStalenessForAConstantRate) {
  EXPECT_FALSE(Damping(constant_rate(), 2, false).judges());
  EXPECT_TRUE(Damping(inverse_rate(), 2, false).judges());
}

TEST(Damping, CompensatesWhereWorkersHaveNoRounds) {
  EXPECT_TRUE(Damping(compensated_rate(), 2, false).compensates());
  EXPECT_FALSE(Damping(compensated_rate(), 2, true).compensates());
  EXPECT_FALSE(Damping(relative_rate(), 2, false).compensates());
}

TEST(Damping, UsesKnownStalenessWithoutProbe) {
  const Damping damping(relative_rate(), 2, false);
  EXPECT_EQ(damping.staleness({.known = 3, .probed = {}}), 3);
  EXPECT_EQ(damping.staleness({.known = 3, .probed = {}, .late = true}), 3);
}

TEST(Damping, CountsFromTheValuesOfTheGradient) {
  const Damping damping(relative_rate(), 2, false);
  EXPECT_EQ(damping.staleness({.known = 3, .probed = 5}), 5) << "they came last";
  EXPECT_EQ(damping.staleness({.known = 3, .probed = 5, .late = true}), 8);
  const Damping ahead(compensated_rate(), 2, false);
  EXPECT_EQ(ahead.staleness({.known = 3, .probed = 5}), 8) << "newer ones were fetched";
}

TEST(Damping, TakesOneUpdateOfEachOtherWorkerForUsual) {
  Damping damping(relative_rate(), 5, false);
  EXPECT_EQ(damping.factor(4, false), 1);
  EXPECT_EQ(damping.factor(8, false), 0.5);
  EXPECT_EQ(damping.factor(8, true), 1) << "two steps pass there";
  EXPECT_EQ(damping.factor(16, true), 0.5);
}

}  // namespace
}  // namespace stretto
