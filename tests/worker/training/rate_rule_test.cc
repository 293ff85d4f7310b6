// SPDX-License-Identifier: Apache-2.0
// The formulas of the rate rules, and their limits.
#include "stretto/rate_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RateRule, ConstantDoesNotCare) {
  EXPECT_EQ(constant_rate()->factor({.versions = 0, .typical = 3}), 1);
  EXPECT_EQ(constant_rate()->factor({.versions = 1e6, .typical = 3}), 1);
}

TEST(RateRule, InverseDividesByTheStaleness) {
  EXPECT_EQ(inverse_rate()->factor({.versions = 0, .typical = 3}), 1);
  EXPECT_EQ(inverse_rate()->factor({.versions = 1, .typical = 3}), 1);
  EXPECT_EQ(inverse_rate()->factor({.versions = 8, .typical = 3}), 0.125);
}

TEST(RateRule, InverseRootDividesByItsRoot) {
  EXPECT_EQ(inverse_root_rate()->factor({.versions = 0.5, .typical = 3}), 1);
  EXPECT_EQ(inverse_root_rate()->factor({.versions = 16, .typical = 3}), 0.25);
}

TEST(RateRule, RelativeDampsOnlyAboveTypicalStaleness) {
  const auto rule = relative_rate();
  EXPECT_EQ(rule->factor({.versions = 3, .typical = 3}), 1);
  EXPECT_EQ(rule->factor({.versions = 1, .typical = 3}), 1);
  EXPECT_EQ(rule->factor({.versions = 12, .typical = 3}), 0.25);
  EXPECT_EQ(rule->factor({.versions = 1000, .typical = 3}), 0.1) << "nobody is silenced";
  EXPECT_EQ(rule->factor({.versions = 2, .typical = 0}), 0.5) << "of one worker: as if it were 1";
}

TEST(RateRule, CompensatedMovesTheGradientAlongItsSquare) {
  const auto rule = compensated_rate(0.5);
  EXPECT_EQ(rule->factor({.versions = 9, .typical = 3}), 1);
  ASSERT_TRUE(rule->compensates());
  std::vector<float> gradient{2, -2, 1};
  rule->compensate(gradient, std::vector<float>{3, 3, 5}, std::vector<float>{1, 1, 5});
  EXPECT_THAT(gradient, ElementsAre(2 + 0.5F * 4 * 2, -2 + 0.5F * 4 * 2, 1));
}

TEST(RateRule, OthersDoNotCompensate) {
  EXPECT_FALSE(relative_rate()->compensates());
  std::vector<float> gradient{2};
  relative_rate()->compensate(gradient, std::vector<float>{3}, std::vector<float>{1});
  EXPECT_THAT(gradient, ElementsAre(2));
}

TEST(RateRule, IsFoundByItsName) {
  for (const char* name : {"constant", "inverse", "inverse_root", "relative", "compensated"}) {
    const auto rule = rate_rule_named(name);
    ASSERT_TRUE(rule.ok()) << name;
    EXPECT_EQ((*rule)->name(), name);
  }
  const Status unknown = rate_rule_named("linear").status();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_THAT(unknown.cause(), HasSubstr("'linear' is not known; there are constant, inverse, "));
}

}  // namespace
}  // namespace stretto
