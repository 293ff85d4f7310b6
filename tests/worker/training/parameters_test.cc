// SPDX-License-Identifier: Apache-2.0
// Training in every mode against real servers: each mode's guarantees on the values.
#include "stretto/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <random>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

constexpr Mode kModes[] = {Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager,
                           Mode::kEagerAsync};
constexpr std::size_t kElements = 300;  // Several parts, in several shards.

live::Plan plan(std::uint32_t workers) {
  live::Plan plan{.workers = workers};
  plan.job.part_bytes = 256;
  return plan;
}

/// A gradient that depends on every bit of the values.
Floats gradient_at(std::span<const float> values, std::uint64_t step, Rank rank = 0) {
  std::mt19937 source(static_cast<unsigned>(step * 16 + rank));
  std::normal_distribution<float> noise;
  Floats gradient(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    gradient[i] = values[i] * values[(i * 7 + 1) % values.size()] * 0.1F + noise(source);
  }
  return gradient;
}

Floats initial() {
  Floats values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) * 0.1F;
  return values;
}

// ---- one worker

class OneWorker : public testing::TestWithParam<std::tuple<Mode, std::uint32_t>> {};

TEST_P(OneWorker, TrainsAsPlainSgdBitForBit) {
  const auto [mode, warm_up] = GetParam();
  live::Cluster cluster(plan(1));
  const ParameterOptions options{
      .mode = mode, .optimizer = {.rule = Rule::kSgd, .rate = 0.05}, .warm_up = warm_up};
  cluster.run([&options](Worker& worker) {
    Floats wanted = initial();
    auto opened = Parameters::open(worker, {{"w", wanted}}, options);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    Parameters weights = *std::move(opened);
    for (std::uint64_t step = 1; step <= 30; ++step) {
      const auto values = weights.values(0);
      ASSERT_EQ(Floats(values.begin(), values.end()), wanted) << "before step " << step;
      const Floats gradient = gradient_at(values, step);
      ASSERT_TRUE(weights.step({gradient}).ok());
      EXPECT_EQ(weights.info().step, step);
      EXPECT_EQ(weights.info().staleness, 0);
      const float rate = 0.05F;
      for (std::size_t i = 0; i < kElements; ++i) wanted[i] -= rate * gradient[i];
      if (step != 20) continue;
      ASSERT_TRUE(weights.finish().ok()) << "training may go on afterwards";
    }
    ASSERT_TRUE(weights.finish().ok());
    const auto values = weights.values(0);
    EXPECT_EQ(Floats(values.begin(), values.end()), wanted);
  });
}

INSTANTIATE_TEST_SUITE_P(All, OneWorker,
                         testing::Combine(testing::ValuesIn(kModes), testing::Values(0U, 5U)),
                         [](const auto& each) {
                           return "Mode" +
                                  std::to_string(static_cast<int>(std::get<0>(each.param))) +
                                  "WarmUp" + std::to_string(std::get<1>(each.param));
                         });

// ---- several workers

/// A late worker starts with the servers' values, as a joining worker does.
TEST(Workers, BeginWithTheServersValuesIfTheyAreLate) {
  for (const Mode mode : kModes) {
    live::Cluster cluster(plan(2));
    cluster.run([mode](Worker& worker) {
      ParameterOptions options{.mode = mode, .optimizer = {.rule = Rule::kSum}};
      auto weights = Parameters::open(worker, {{"w", initial()}}, options);
      ASSERT_TRUE(weights.ok()) << weights.status().text();
      ASSERT_TRUE(weights->step({Floats(kElements, 1.F)}).ok());
      ASSERT_TRUE(weights->finish().ok());
      if (worker.rank() == 0) return;
      options.late = true;
      const Floats own(kElements, 7.F);
      const auto late = Parameters::open(worker, {{"w", own}}, options);
      ASSERT_TRUE(late.ok()) << late.status().text();
      const auto found = late->values(0);
      const auto trained = mode == Mode::kSync ? std::span<const float>(own) : weights->values(0);
      EXPECT_TRUE(std::ranges::equal(found, trained)) << name_of(mode);
    });
  }
}

TEST(Workers, HaveEveryUpdateOnceAtTheEnd) {
  for (const Mode mode : kModes) {
    live::Cluster cluster(plan(3));
    cluster.run([mode](Worker& worker) {
      Floats first(kElements, worker.rank() == 0 ? 5.0F : 99.0F);
      Floats second(3, 1);
      const ParameterOptions options{.mode = mode,
                                     .optimizer = {.rule = Rule::kSgd, .rate = 3},
                                     .rate_rule = constant_rate(),
                                     .warm_up = 2};
      Parameters weights =
          Parameters::open(worker, {{"first", first}, {"second", second}}, options).or_exit();
      EXPECT_EQ(weights.count(), 2U);
      EXPECT_EQ(weights.values(0)[7], 5) << "everybody begins with what rank 0 has";
      for (int step = 0; step < 20; ++step) {
        const Floats gradient(kElements, -1.0F - static_cast<float>(worker.rank()));
        const Floats other{1, 0, 0};
        ASSERT_TRUE(weights.step({gradient, other}).ok());
      }
      ASSERT_TRUE(weights.finish().ok());
      // In the modes with rounds an update is the mean of all, so a third of the sum.
      const float share = has_rounds(mode) ? 1 : 3;
      EXPECT_EQ(weights.values(0)[0], 5 + 20 * 3 * (1 + 2 + 3) / 3.0F * share);
      EXPECT_EQ(weights.values(0)[kElements - 1], weights.values(0)[0]);
      EXPECT_THAT(weights.values(1), ElementsAre(1 - 20 * 3 * share, 1, 1));
    });
  }
}

/// Mode eager without overlay: all workers see one sequence of values, delayed by one round.
TEST(Workers, SeeTheSameDelayedSequenceInModeEager) {
  constexpr int kSteps = 25;
  std::mutex mutex;
  std::vector<std::vector<Floats>> seen(2);
  live::Cluster cluster(plan(2));
  cluster.run([&](Worker& worker) {
    const Floats first = initial();
    Parameters weights = Parameters::open(worker, {{"w", first}},
                                          {.mode = Mode::kEager,
                                           .optimizer = {.rule = Rule::kSgd, .rate = 0.05},
                                           .overlay = false})
                             .or_exit();
    std::vector<Floats> values;
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      values.emplace_back(weights.values(0).begin(), weights.values(0).end());
      ASSERT_TRUE(weights.step({gradient_at(values.back(), step, worker.rank())}).ok());
    }
    const std::lock_guard lock(mutex);
    seen[worker.rank()] = values;
  });
  ASSERT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0][1], seen[0][0]) << "step 1 has not come back when step 2 begins";
  Floats wanted = seen[0][0];
  for (std::uint64_t step = 1; step + 2 <= kSteps; ++step) {
    const Floats a = gradient_at(seen[0][step - 1], step, 0);
    const Floats b = gradient_at(seen[0][step - 1], step, 1);
    for (std::size_t i = 0; i < kElements; ++i) {
      wanted[i] += -0.025F * a[i] + -0.025F * b[i];
      EXPECT_NEAR(seen[0][step + 1][i], wanted[i], 1e-4);
    }
  }
}

TEST(Workers, SeeTheirOwnUpdatesAtOnceWithTheOverlay) {
  live::Cluster cluster(plan(2));
  cluster.run([](Worker& worker) {
    const Floats first(4, 0);
    for (const Mode mode : {Mode::kEager, Mode::kEagerAsync}) {
      const std::string name = "w" + std::to_string(static_cast<int>(mode));
      Parameters weights = Parameters::open(worker, {{name, first}},
                                            {.mode = mode,
                                             .optimizer = {.rule = Rule::kSgd, .rate = 2},
                                             .rate_rule = constant_rate()})
                               .or_exit();
      // Element `rank` is moved by this worker alone, so it counts this worker's updates.
      Floats gradient(4, 0);
      gradient[worker.rank()] = -1;
      const float each = mode == Mode::kEager ? 1 : 2;
      for (int step = 1; step <= 50; ++step) {
        ASSERT_TRUE(weights.step({gradient}).ok());
        ASSERT_EQ(weights.values(0)[worker.rank()], each * static_cast<float>(step));
      }
      ASSERT_TRUE(weights.finish().ok());
    }
  });
}

/// One worker pushes while the other is suspended: this is the staleness of its next gradient.
TEST(Workers, AreToldHowStaleTheirGradientsAre) {
  for (const bool probe : {true, false}) {
    live::Cluster cluster(plan(2));
    std::barrier together(2);
    cluster.run([&](Worker& worker) {
      const Floats first(4, 0);
      Parameters weights = Parameters::open(worker, {{"w", first}},
                                            {.mode = Mode::kEagerAsync,
                                             .optimizer = {.rule = Rule::kSgd, .rate = 1},
                                             .rate_rule = inverse_rate(),
                                             .probe = probe})
                               .or_exit();
      const Floats gradient(4, 1);
      if (worker.rank() == 0) {
        ASSERT_TRUE(weights.step({gradient}).ok());
        ASSERT_TRUE(worker.barrier().ok());
      } else {
        ASSERT_TRUE(worker.barrier().ok());
        for (int step = 0; step < 10; ++step) ASSERT_TRUE(weights.step({gradient}).ok());
        const Floats none(4, 0);
        ASSERT_TRUE(weights.step({none}).ok());  // The tenth has arrived.
      }
      together.arrive_and_wait();
      if (worker.rank() == 0) {
        ASSERT_TRUE(weights.step({gradient}).ok());
        const StepInfo info = weights.info();
        ASSERT_TRUE(weights.step({gradient}).ok());
        if (probe) {
          EXPECT_GE(info.staleness, 10);
          EXPECT_LE(info.staleness, 11);
          EXPECT_EQ(info.factor, 1 / info.staleness);
          EXPECT_GE(weights.info().staleness, 10) << "its gradient was of the same values";
          EXPECT_LE(weights.info().staleness, 11);
        } else {
          EXPECT_GE(info.staleness + weights.info().staleness, 10) << "one step later at most";
        }
      }
      ASSERT_TRUE(weights.finish().ok());
    });
  }
}

/// Records its arguments.
class NotingRule final : public RateRule {
 public:
  explicit NotingRule(std::vector<double>& typical) : typical_(typical) {}
  std::string_view name() const override { return "noting"; }
  double factor(const Staleness& staleness) const override {
    typical_.push_back(staleness.typical);
    return 1;
  }

 private:
  std::vector<double>& typical_;
};

TEST(Workers, RateRuleReceivesModesTypicalStaleness) {
  live::Cluster cluster(plan(3));
  cluster.run([](Worker& worker) {
    const Floats first(4, 0);
    for (const Mode mode : {Mode::kAsync, Mode::kEagerAsync}) {
      std::vector<double> typical;
      Parameters weights =
          Parameters::open(worker, {{"w" + std::to_string(static_cast<int>(mode)), first}},
                           {.mode = mode,
                            .optimizer = {.rule = Rule::kSgd, .rate = 1},
                            .rate_rule = std::make_unique<NotingRule>(typical),
                            .warm_up = 1})
              .or_exit();
      for (int step = 0; step < 3; ++step) ASSERT_TRUE(weights.step({first}).ok());
      const double warm = mode == Mode::kEagerAsync ? 4 : 2;
      EXPECT_THAT(typical, testing::ElementsAre(2, warm, warm)) << "steps times other workers";
      ASSERT_TRUE(weights.finish().ok());
    }
  });
}

// ---- delay compensation for an optimizer of the caller

ParameterOptions callers_own(Mode mode, std::uint32_t warm_up = 0) {
  return {.mode = mode,
          .optimizer = {.rule = Rule::kSum},
          .rate_rule = compensated_rate(),
          .warm_up = warm_up};
}

// No other worker has changed the values that the gradient was computed from.
TEST_P(OneWorker, HasNothingToCompensateFor) {
  const auto [mode, warm_up] = GetParam();
  const ParameterOptions options = callers_own(mode, warm_up);
  live::Cluster cluster(plan(1));
  cluster.run([&](Worker& worker) {
    Parameters weights = Parameters::open(worker, {{"w", initial()}}, options).or_exit();
    for (std::uint64_t step = 0; step < 6; ++step) {
      const Floats before = gradient_at(weights.values(0), step);
      Floats gradient = before;
      const std::span<float> places[] = {gradient};
      ASSERT_TRUE(weights.compensate(places).ok());
      for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(gradient[i], before[i]) << step;
      Floats expected(weights.values(0).begin(), weights.values(0).end());
      for (std::size_t i = 0; i < kElements; ++i) gradient[i] *= -0.01F;
      for (std::size_t i = 0; i < kElements; ++i) expected[i] += gradient[i];
      ASSERT_TRUE(weights.step({gradient}).ok());
      for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(weights.values(0)[i], expected[i]);
    }
    ASSERT_TRUE(weights.finish().ok());
  });
}

TEST(Workers, CompensateForConcurrentUpdates) {
  live::Cluster cluster(plan(2));
  cluster.run([&](Worker& worker) {
    const Floats first(4, 0);
    Parameters weights =
        Parameters::open(worker, {{"w", first}, {"v", first}}, callers_own(Mode::kAsync)).or_exit();
    Floats gradient(4, 2);
    const Floats update(4, 1);
    const std::span<float> places[] = {gradient, {}};
    if (worker.rank() == 0) worker.barrier().or_exit();
    ASSERT_TRUE(weights.compensate(places).ok());
    // g + lambda * g * g * (now - then), with 1 update of the other worker, and with none.
    const float expected = worker.rank() == 0 ? 2 + 0.04F * 2 * 2 * 1 : 2;
    for (const float value : gradient) EXPECT_FLOAT_EQ(value, expected);
    ASSERT_TRUE(weights.step({update, update}).ok());
    EXPECT_EQ(weights.info().staleness, worker.rank() == 0 ? 1 : 0) << "though it looked ahead";
    if (worker.rank() == 1) worker.barrier().or_exit();
    ASSERT_TRUE(weights.finish().ok());
    EXPECT_THAT(Floats(weights.values(0).begin(), weights.values(0).end()), Each(2));
  });
}

// ---- invalid arguments

TEST(Parameters, InvalidUseIsExplained) {
  live::Cluster cluster(plan(1));
  cluster.run([](Worker& worker) {
    const Floats first(4, 0);
    EXPECT_THAT(Parameters::open(worker, {}, {}).status().cause(), HasSubstr("at least one"));
    EXPECT_THAT(Parameters::open(worker, {{"w", first}}, {.optimizer = {.rule = Rule::kMean}})
                    .status()
                    .cause(),
                HasSubstr("one of sgd"));
    {
      Parameters own =
          Parameters::open(worker, {{"own", first}}, callers_own(Mode::kAsync)).or_exit();
      EXPECT_THAT(own.step({first}).cause(), HasSubstr("call compensate() before each step()"));
      EXPECT_THAT(own.compensate({}).cause(), HasSubstr("0 gradients were given for 1"));
      Floats gradient(3);
      const std::span<float> places[] = {gradient};
      EXPECT_THAT(own.compensate(places).cause(), HasSubstr("gradient 0 has 3 elements"));
    }
    EXPECT_THAT(Parameters::open(worker, {{"", first}}).status().cause(), HasSubstr("name"));
    EXPECT_EQ(ParameterOptions().mode, Mode::kSync);
    Parameters weights = Parameters::open(worker, {{"w", first}}, {.mode = Mode::kEager}).or_exit();
    Floats unchanged(4, 1);
    const std::span<float> theirs[] = {unchanged};
    EXPECT_EQ(weights.compensate(theirs).code(), Code::kInvalidArgument);
    EXPECT_THAT(weights.compensate(theirs).cause(), HasSubstr("for which step() does it"));
    EXPECT_THAT(unchanged, Each(1));
    EXPECT_THAT(weights.step({}).cause(), HasSubstr("0 gradients were given for 1"));
    EXPECT_THAT(weights.step({Floats{1, 2}}).cause(), HasSubstr("gradient 0 has 2 elements"));
    EXPECT_TRUE(weights.step({Floats{1, 2, 3, 4}}).ok()) << "nothing had happened";
    EXPECT_TRUE(worker.leave().ok());
    (void)weights.step({Floats{1, 2, 3, 4}});  // Its push fails, which the next step reports.
    EXPECT_EQ(weights.step({Floats{1, 2, 3, 4}}).code(), Code::kCancelled);
    EXPECT_EQ(weights.step({Floats{1, 2, 3, 4}}).code(), Code::kCancelled);
    EXPECT_EQ(weights.finish().code(), Code::kCancelled);
  });
}

}  // namespace
}  // namespace stretto
