// SPDX-License-Identifier: Apache-2.0
// Tests without a network: the gradient of every task against finite differences, minibatches, and
// that each task can be learnt.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "examples/converge/network.h"
#include "examples/converge/tasks.h"

namespace converge {
namespace {

// Weights of a tensor that are varied, in addition to its last ones.
#ifdef STRETTO_SANITIZED
constexpr std::size_t kLookedAt = 50;
#else
constexpr std::size_t kLookedAt = 300;
#endif

class EachTask : public testing::TestWithParam<const char*> {};

/// Central differences by the biases and by random weights. Where the step switches a rectified
/// unit they are wrong, which a few may be.
TEST_P(EachTask, HasTheGradientOfItsLoss) {
  Task task = make_task(GetParam(), STRETTO_DIGITS_DATA).or_exit();
  const std::vector<std::size_t> batch = {0, 3, 5, 11};
  Tensors weights = task.network.initial(7);
  std::mt19937_64 random(3);
  for (std::vector<float>& tensor : weights) {  // Biases of 0 would leave blank pixels at a kink.
    for (float& weight : tensor) weight += static_cast<float>(random() % 1000) * 1e-4F - 0.05F;
  }
  Tensors gradient;
  Tensors ignored;
  task.network.loss_and_gradient(views_of(weights), task.train, batch, gradient);
  for (std::size_t t = 0; t < weights.size(); ++t) {
    const std::vector<float>& wanted = gradient[t];
    const float size =
        std::sqrt(std::inner_product(wanted.begin(), wanted.end(), wanted.begin(), 0.0F) /
                  static_cast<float>(wanted.size()));
    ASSERT_GT(size, 0) << "tensor " << t;
    std::size_t looked_at = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < weights[t].size(); ++i) {
      if (i + 16 < weights[t].size() && random() % weights[t].size() > kLookedAt) continue;
      constexpr float kStep = 4e-4F;
      const float before = weights[t][i];
      const auto loss_at = [&](float value) {
        weights[t][i] = value;
        return task.network.loss_and_gradient(views_of(weights), task.train, batch, ignored);
      };
      const double slope = (loss_at(before + kStep) - loss_at(before - kStep)) /
                           static_cast<double>((before + kStep) - (before - kStep));
      weights[t][i] = before;
      ++looked_at;
      if (std::abs(slope - static_cast<double>(wanted[i])) > 0.02 * static_cast<double>(size)) {
        ++wrong;
      }
    }
    EXPECT_GE(looked_at, kLookedAt / 4) << "tensor " << t;
    EXPECT_LE(static_cast<double>(wrong), 0.07 * static_cast<double>(looked_at))
        << "tensor " << t << ", of " << looked_at;
  }
}

TEST_P(EachTask, CanBeLearnt) {
  Task task = make_task(GetParam(), STRETTO_DIGITS_DATA).or_exit();
  Tensors weights = task.network.initial(1);
  Tensors gradient;
  Batches batches(task.train.count(), 0, 1, 16, 1);
  const double before = task.network.score(views_of(weights), task.test).accuracy;
  for (int step = 0; step < 600; ++step) {
    task.network.loss_and_gradient(views_of(weights), task.train, batches.next(), gradient);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      for (std::size_t i = 0; i < weights[t].size(); ++i) weights[t][i] -= 0.1F * gradient[t][i];
    }
  }
  const Score after = task.network.score(views_of(weights), task.test);
  EXPECT_LT(before, 0.4);
  EXPECT_GT(after.accuracy, 0.85);
  RecordProperty("accuracy", std::to_string(after.accuracy));
}

TEST_P(EachTask, IsTheSameEachTime) {
  const Task one = make_task(GetParam(), STRETTO_DIGITS_DATA).or_exit();
  const Task other = make_task(GetParam(), STRETTO_DIGITS_DATA).or_exit();
  EXPECT_EQ(one.train.features, other.train.features);
  EXPECT_EQ(one.test.labels, other.test.labels);
  EXPECT_EQ(one.network.initial(5), other.network.initial(5));
  EXPECT_NE(one.network.initial(5), other.network.initial(6));
}

INSTANTIATE_TEST_SUITE_P(All, EachTask, testing::Values("softmax", "mlp", "conv", "clusters"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Tasks, SayWhichThereAre) {
  const auto task = make_task("resnet", STRETTO_DIGITS_DATA);
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.status().cause(),
            "wanted a task of softmax, mlp, conv and clusters, found 'resnet'");
  EXPECT_FALSE(make_task("mlp", "/no/such/file").ok());
}

TEST(Score, OfWeightsThatAreNoNumbersIsNothing) {
  Task task = make_task("mlp", STRETTO_DIGITS_DATA).or_exit();
  Tensors weights = task.network.initial(1);
  for (std::vector<float>& tensor : weights) {
    tensor.assign(tensor.size(), std::numeric_limits<float>::quiet_NaN());
  }
  const Score score = task.network.score(views_of(weights), task.test);
  EXPECT_EQ(score.accuracy, 0);
  EXPECT_FALSE(std::isfinite(score.loss));
}

TEST(Batches, ShareTheSamplesAndPassOverAllOfThem) {
  std::multiset<std::size_t> seen;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    Batches batches(12, rank, 3, 2, 42);
    Batches same(12, rank, 3, 2, 42);
    for (int i = 0; i < 2; ++i) {
      for (const std::size_t sample : batches.next()) {
        EXPECT_EQ(sample % 3, rank);
        seen.insert(sample);
      }
      same.next();
    }
    const auto batch = batches.next();
    EXPECT_TRUE(std::ranges::equal(batch, same.next()));
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), 12U);
}

}  // namespace
}  // namespace converge
