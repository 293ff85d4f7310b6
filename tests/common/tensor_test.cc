// SPDX-License-Identifier: Apache-2.0
// Modes and rules by name, there and back.
#include "stretto/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Mode, HasAName) {
  for (const char* name : {"sync", "bounded", "async", "eager", "eager_async"}) {
    const Result<Mode> mode = mode_named(name);
    ASSERT_TRUE(mode.ok()) << name;
    EXPECT_EQ(name_of(*mode), name);
  }
  EXPECT_EQ(*mode_named("eager-async"), Mode::kEagerAsync);
  EXPECT_EQ(name_of(Mode{0}), "unknown");
  EXPECT_EQ(name_of(Mode{6}), "unknown");
}

TEST(Mode, ThatIsNoneIsRefusedWithAllThatThereAre) {
  EXPECT_THAT(mode_named("asynch").status().cause(),
              testing::HasSubstr("'asynch' is not known; there are sync, bounded, async, eager, "
                                 "eager_async"));
}

TEST(Rule, HasAName) {
  for (const char* name :
       {"sum", "mean", "sgd", "momentum", "adam", "adagrad", "min", "max", "product"}) {
    const Result<Rule> rule = rule_named(name);
    ASSERT_TRUE(rule.ok()) << name;
    EXPECT_EQ(name_of(*rule), name);
  }
  EXPECT_EQ(name_of(Rule{0}), "unknown");
  EXPECT_EQ(name_of(Rule{10}), "unknown");
  EXPECT_THAT(rule_named("average").status().cause(), testing::HasSubstr("sum, mean, sgd"));
}

TEST(Rule, OfAnOptimizerKeepsParametersAtTheServers) {
  for (const Rule rule : {Rule::kSum, Rule::kMean, Rule::kMin, Rule::kMax, Rule::kProduct}) {
    EXPECT_FALSE(is_optimizer(rule));
    EXPECT_TRUE(is_of_its_round({.update = {.rule = rule}}));
    EXPECT_FALSE(is_of_its_round({.mode = Mode::kEager, .update = {.rule = rule}}));
  }
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    EXPECT_TRUE(is_optimizer(rule));
    EXPECT_FALSE(is_of_its_round({.update = {.rule = rule}}));
  }
}

TEST(Mode, EagerOnesAndThoseWithRounds) {
  EXPECT_TRUE(has_rounds(Mode::kSync) && has_rounds(Mode::kEager));
  EXPECT_FALSE(has_rounds(Mode::kBounded) || has_rounds(Mode::kAsync) ||
               has_rounds(Mode::kEagerAsync));
  EXPECT_TRUE(is_eager(Mode::kEager) && is_eager(Mode::kEagerAsync));
  EXPECT_FALSE(is_eager(Mode::kSync) || is_eager(Mode::kBounded) || is_eager(Mode::kAsync));
}

}  // namespace
}  // namespace stretto
