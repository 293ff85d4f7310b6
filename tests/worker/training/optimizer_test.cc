// SPDX-License-Identifier: Apache-2.0
// An optimizer's updates equal those of the server's rule of the same name, bit for bit.
#include "worker/training/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

using testing::HasSubstr;
using Floats = std::vector<float>;

Floats random_floats(std::mt19937& source, std::size_t count) {
  std::normal_distribution<float> normal;
  Floats numbers(count);
  for (float& number : numbers) number = normal(source);
  return numbers;
}

TEST(Optimizer, SgdMatchesPlainUpdateBitForBit) {
  std::mt19937 source(3);
  Optimizer optimizer = *Optimizer::make({.rule = Rule::kSgd, .rate = 0.3}, 100);
  Floats values = random_floats(source, 100);
  Floats wanted = values;
  Floats update(100);
  for (int step = 0; step < 20; ++step) {
    const Floats gradient = random_floats(source, 100);
    optimizer.make_update(gradient, values, 1, update);
    const float rate = 0.3F;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += update[i];
      wanted[i] -= rate * gradient[i];
    }
    ASSERT_EQ(values, wanted);
  }
}

/// Every rule, with and without decay, matches the server's rule with the same parameters.
TEST(Optimizer, FollowsTheRuleOfTheSameNumbers) {
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    for (const double decay : {0.0, 0.1}) {
      std::mt19937 source(4);
      const RuleOptions options{.rule = rule, .rate = 0.05, .weight_decay = decay};
      Optimizer optimizer = *Optimizer::make(options, 50);
      const auto server = std::move(*ops::make_update_rule(options, Dtype::kF32, 50));
      Floats values = random_floats(source, 50);
      Floats wanted = values;
      Floats update(50);
      for (int step = 0; step < 10; ++step) {
        const Floats gradient = random_floats(source, 50);
        optimizer.make_update(gradient, values, 1, update);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += update[i];
        server->apply(std::as_writable_bytes(std::span(wanted)), std::as_bytes(std::span(gradient)),
                      1);
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], wanted[i], 1e-5) << static_cast<int>(rule) << ", " << decay;
      }
    }
  }
}

TEST(Optimizer, ScalingLeavesVelocityUnscaled) {
  Optimizer optimizer = *Optimizer::make({.rule = Rule::kMomentum, .rate = 1, .momentum = 0.5}, 1);
  Floats update(1);
  optimizer.make_update(Floats{4}, Floats{0}, 0.25, update);
  EXPECT_EQ(update[0], -1);
  optimizer.set_rate(0.5);
  optimizer.make_update(Floats{4}, Floats{0}, 1, update);
  EXPECT_EQ(update[0], -(4 * 0.5F + 4) * 0.5F) << "the velocity is of whole gradients";
}

TEST(Optimizer, SumTakesUpdatesAsTheyAre) {
  Optimizer optimizer = Optimizer::make({.rule = Rule::kSum, .rate = 0.5}, 2).or_exit();
  Floats update(2, 7);
  optimizer.make_update(Floats{4, -2}, Floats{1, 1}, 0.25, update);
  EXPECT_EQ(update, (Floats{1, -0.5F})) << "only the factor counts";
}

TEST(Optimizer, InvalidRulesAreRefused) {
  EXPECT_THAT(Optimizer::make({.rule = Rule::kMean}, 4).status().cause(), HasSubstr("one of sgd"));
  EXPECT_FALSE(Optimizer::make({.rule = Rule::kSgd, .rate = -1}, 4).ok());
  EXPECT_FALSE(Optimizer::make({.rule = Rule::kMomentum, .momentum = 1}, 4).ok());
}

}  // namespace
}  // namespace stretto
