// SPDX-License-Identifier: Apache-2.0
// Which rounds begin a term, and which plans are taken.
#include "worker/peer_state/strategy_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using collective::Primitive;
using collective::StrategyPlan;
using testing::HasSubstr;

const std::vector<std::uint32_t> kApart = {0, 1, 2};

StrategySchedule terms_of(const StrategyPlan& plan) {
  return {plan, *collective::strategy_of(plan, kApart)};
}

Status decide(StrategySchedule& terms, std::uint64_t round, const StrategyPlan& plan) {
  return terms.decide(round, plan, *collective::strategy_of(plan, kApart));
}

TEST(StrategySchedule, BeginSoonAndThenSeldom) {
  std::vector<std::uint64_t> begins;
  for (std::uint64_t round = 0; round <= 200; ++round) {
    if (StrategySchedule::begin_at(round)) begins.push_back(round);
  }
  EXPECT_THAT(begins, testing::ElementsAre(4, 16, 64, 128, 192));
}

TEST(StrategySchedule, AreAwaitedUntilTheyAreDecided) {
  StrategySchedule terms = terms_of({});
  EXPECT_FALSE(terms.awaited_by(3));
  EXPECT_TRUE(terms.awaited_by(4));
  const StrategyPlan ring{.primitive = Primitive::kRing};
  ASSERT_TRUE(decide(terms, 4, ring).ok());
  EXPECT_FALSE(terms.awaited_by(4));
  EXPECT_TRUE(terms.awaited_by(16));
  EXPECT_EQ(terms.plan(), ring);
  EXPECT_EQ(terms.strategy().primitive(), Primitive::kRing);
  EXPECT_EQ(terms.decided(), 4U);
}

TEST(StrategySchedule, TakeThePlanOfTheNextOneOnly) {
  StrategySchedule terms = terms_of({});
  for (const std::uint64_t round : {0U, 3U, 5U, 16U}) {
    const Status status = decide(terms, round, {.primitive = Primitive::kRing});
    EXPECT_EQ(status.code(), Code::kMalformed);
    EXPECT_THAT(status.text(), HasSubstr("the next one is for round 4"));
  }
  EXPECT_EQ(terms.plan(), StrategyPlan());
  ASSERT_TRUE(decide(terms, 4, {}).ok());
  EXPECT_FALSE(decide(terms, 4, {}).ok());
}

}  // namespace
}  // namespace stretto
