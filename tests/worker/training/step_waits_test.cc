// SPDX-License-Identifier: Apache-2.0
// Interrupted steps: one of two workers steps, and the other does not.
#include "worker/training/step_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

#include "stretto/parameters.h"
#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using testing::HasSubstr;

const std::vector<float> kOnes(300, 1);
constexpr Mode kWaitingModes[] = {Mode::kEager, Mode::kBounded};

/// Worker 0 begins a step that waits for worker 1, and calls `use` with the parameters.
template <typename Use>
void interrupt_step(Mode mode, const Use& use) {
  std::promise<void> ended;
  const std::shared_future<void> end = ended.get_future().share();
  live::Cluster cluster;
  cluster.run([&](Worker& worker) {
    std::optional<Parameters> weights =
        Parameters::open(worker, {{"first", kOnes}, {"second", kOnes}},
                         {.mode = mode, .bound = 0, .optimizer = {.rule = Rule::kSum}})
            .or_exit();
    if (worker.rank() == 1) {
      EXPECT_EQ(end.wait_for(30s), std::future_status::ready) << "worker 0 waits in a destructor";
      return;
    }
    use(*weights);
    weights.reset();
    ended.set_value();
  });
}

Status step_of(Parameters& weights) { return weights.step({kOnes, kOnes}); }

/// Runs steps until one fails; the interruption ends the step that waits.
Status step_until_interrupted(Parameters& weights) {
  for (;;) {
    if (Status status = step_of(weights); !status.ok()) return status;
  }
}

TEST(StepWaits, InterruptionEndsStepAndFreesCaller) {
  for (const Mode mode : kWaitingModes) {
    interrupt_step(mode, [](Parameters& weights) {
      int looks = 0;
      {
        const Interruptible ends([&looks] { return ++looks < 2; });
        const Status status = step_until_interrupted(weights);
        EXPECT_EQ(status.code(), Code::kCancelled);
        EXPECT_THAT(status.text(), HasSubstr("interrupted a step"));
      }
      EXPECT_EQ(looks, 2) << "one look every kBetween, and none after the end";
      EXPECT_EQ(step_of(weights).code(), Code::kCancelled);
      EXPECT_EQ(weights.finish().code(), Code::kCancelled);
    });
  }
}

TEST(StepWaits, WaitingStepRefusesOtherCalls) {
  interrupt_step(Mode::kEager, [](Parameters& weights) {
    int looks = 0;
    const Interruptible ends([&] {
      if (++looks < 2) return true;
      EXPECT_EQ(step_of(weights).code(), Code::kInvalidArgument);
      EXPECT_THAT(weights.finish().text(), HasSubstr("set a flag in the handler"));
      return false;
    });
    EXPECT_EQ(step_until_interrupted(weights).code(), Code::kCancelled);
  });
}

TEST(StepWaits, InnerInterruptibleLeavesOuterOne) {
  int looks = 0;
  const Interruptible outer([&looks] { return ++looks < 2; });
  {
    const Interruptible inner([] { return false; });
  }
  EXPECT_TRUE(Interruptible::goes_on());
  EXPECT_FALSE(Interruptible::goes_on());
  EXPECT_FALSE(Interruptible::goes_on());
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace stretto
