// SPDX-License-Identifier: Apache-2.0
// The chooser's decisions in cases for which the fastest strategy can be calculated by hand.
#include "collective/strategy_chooser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/ownership_weights.h"

namespace stretto::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kPart = 256 << 10;
constexpr std::uint64_t kLarge = 16 << 20;
constexpr double kRate = 125e6;

using Machines = std::vector<std::uint32_t>;

StrategyPlan chosen(const Machines& machines, const std::vector<double>& rates,
                    std::uint64_t bytes = kLarge) {
  return choose({machines, rates}, bytes, kPart).plan;
}

TEST(Chooser, TakesTheFewestHopsWhereLinksAreAlike) {
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{64 << 10}, kLarge}) {
    EXPECT_EQ(chosen({0}, {}, bytes), StrategyPlan());
    EXPECT_EQ(chosen({0, 1}, {}, bytes), StrategyPlan());
    EXPECT_EQ(chosen({0, 1, 2, 3}, {}, bytes).weights, StrategyPlan().weights);
  }
  EXPECT_EQ(chosen({0, 1, 2, 3}, {}), StrategyPlan());
  EXPECT_EQ(chosen({0, 0, 0, 0}, {}), StrategyPlan()) << "on one machine";
  EXPECT_EQ(chosen({0, 1, 2, 3}, {kRate, 0.93 * kRate, kRate, 0.95 * kRate}), StrategyPlan())
      << "rates are not measured so exactly";
}

/// T* of four members, one with a quarter of the rate, is 4 n / b: the slow member owns nothing.
TEST(Chooser, ASlowLinkOwnsLess) {
  const Machines machines{0, 1, 2, 3};
  const std::vector<double> rates{kRate, kRate, kRate / 4, kRate};
  const StrategyChoice choice = choose({machines, rates}, kLarge, kPart);
  EXPECT_EQ(choice.plan.primitive, Primitive::kDirect);
  EXPECT_THAT(choice.plan.weights, ElementsAre(64, 64, 0, 64));
  EXPECT_NEAR(choice.predicted.link_seconds, 4 * kLarge / kRate, 1e-3);
  const StrategyChoice half = choose({machines, {kRate, kRate, kRate / 2, kRate}}, kLarge, kPart);
  const double least = least_seconds(kLarge, {{kRate, 0}, {kRate, 0}, {kRate / 2, 0}, {kRate, 0}});
  EXPECT_NEAR(half.predicted.link_seconds, least, 0.02 * least);
}

TEST(Chooser, TwoMembersOwnEqualShares) {
  EXPECT_EQ(chosen({0, 1}, {kRate, kRate / 4}), StrategyPlan());
}

TEST(Chooser, MachinesMeetWhereTheyHaveSeveralMembers) {
  EXPECT_EQ(chosen({0, 0, 0, 0, 1, 1, 1, 1}, {}),
            (StrategyPlan{.primitive = Primitive::kHierarchical}));
  const StrategyPlan slow = chosen({0, 0, 1, 1, 2, 2}, {kRate, kRate, kRate / 2});
  EXPECT_EQ(slow.primitive, Primitive::kHierarchical);
  ASSERT_EQ(slow.weights.size(), 3U);
  EXPECT_LT(slow.weights[2], slow.weights[0]);
}

TEST(Chooser, AMachineOfWhichNothingIsKnownIsLikeTheRest) {
  EXPECT_EQ(chosen({0, 1, 2, 3}, {kRate / 9, 0, kRate / 9, kRate / 9}), StrategyPlan());
}

TEST(Chooser, KeepsPlanUnlessClearlyWorse) {
  const Machines machines{0, 1, 2, 3};
  const StrategyPlan weighted{Primitive::kDirect, {64, 64, 60, 64}};
  EXPECT_EQ(choose({machines, {}}, kLarge, kPart, weighted).plan, weighted);
  const StrategyPlan lopsided{Primitive::kDirect, {64, 64, 0, 64}};
  EXPECT_EQ(choose({machines, {}}, kLarge, kPart, lopsided).plan, StrategyPlan());
}

TEST(Chooser, ReasonListsAlternatives) {
  const StrategyChoice choice = choose({{0, 1, 2, 3}, {}}, kLarge, kPart);
  EXPECT_THAT(choice.why, StartsWith("direct: "));
  EXPECT_THAT(choice.why, HasSubstr("(worker 0's machine)"));
  EXPECT_THAT(choice.why, HasSubstr("ring "));
  EXPECT_THAT(choice.why, HasSubstr("halving "));
}

TEST(Chooser, EveryPlanIsAStrategyOfAllMembers) {
  const Machines machines{0, 1, 0, 2, 1};
  for (const Primitive each : {Primitive::kDirect, Primitive::kRing, Primitive::kHalving,
                               Primitive::kTree, Primitive::kHierarchical}) {
    const Result<Strategy> made = strategy_of({each, {}}, machines);
    ASSERT_TRUE(made.ok()) << made.status().text();
    EXPECT_EQ(made->contributors().size(), machines.size());
    EXPECT_EQ(made->primitive(), each);
  }
}

/// A plan that another member sends is validated.
TEST(Chooser, RefusesPlansThatCannotBe) {
  const Machines machines{0, 0, 1};
  const auto why = [&machines](const StrategyPlan& plan) {
    const Result<Strategy> made = strategy_of(plan, machines);
    EXPECT_FALSE(made.ok());
    return made.status().text();
  };
  EXPECT_THAT(why({Primitive::kDirect, {1, 2}}), HasSubstr("2 weights, wanted 3"));
  EXPECT_THAT(why({Primitive::kHierarchical, {1, 2, 3}}), HasSubstr("3 weights, wanted 2"));
  EXPECT_THAT(why({Primitive::kRing, {1, 1, 1}}), HasSubstr("3 weights, wanted 0"));
  EXPECT_THAT(why({Primitive::kDirect, {0, 0, 0}}), HasSubstr("greatest weight is 0"));
  EXPECT_THAT(why({Primitive::kDirect, {1, 1, kMostWeight + 1}}), HasSubstr("greatest weight"));
  EXPECT_THAT(why({Primitive::kServers, {}}), HasSubstr("no strategy among workers"));
}

/// Servers on machines of their own: each worker carries n bytes, each server P n / S.
TEST(Chooser, ServersAreReckonedToo) {
  const double apart = predict_servers({0, 1, 2, 3}, {4, 5, 6, 7}, kLarge, kPart).link_seconds;
  EXPECT_NEAR(apart, kLarge / 125e6, 1e-6);
  const double one = predict_servers({0, 1, 2, 3}, {4}, kLarge, kPart).link_seconds;
  EXPECT_NEAR(one, 4 * apart, 1e-6);
  const double beside = predict_servers({0, 1, 2, 3}, {0, 1, 2, 3}, kLarge, kPart).link_seconds;
  EXPECT_NEAR(beside, 1.5 * apart, 1e-6);
}

TEST(Chooser, IsReadAsWords) {
  EXPECT_EQ(StrategyPlan{}.describe(), "direct");
  EXPECT_EQ((StrategyPlan{Primitive::kDirect, {4, 1}}).describe(), "direct, weights 4 1");
}

}  // namespace
}  // namespace stretto::collective
