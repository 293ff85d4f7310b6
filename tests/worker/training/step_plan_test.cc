// SPDX-License-Identifier: Apache-2.0
// What each mode does in which order, without a tensor or a worker.
#include "worker/training/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stretto {
namespace {

using enum StepAction;

const StepPlan kNewestValues = {{kPull}, {kAwaitPull}};
const StepPlan kBarriersAroundTheLastValues = {{kAwaitPush}, {kAwaitPull}, {kBarrier}, {kPull},
                                               {kAwaitPull}, {kBarrier},   {kTake}};

StepPlan joined(StepPlan first, const StepPlan& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

TEST(StepPlanSync, ExchangesGradientsAndUpdatesEachCopyAlike) {
  const auto sync = step_strategy(Mode::kSync, {.workers = 2, .warm_up = 3});
  EXPECT_EQ(sync->server_rule(), Rule::kMean);
  EXPECT_EQ(sync->share(), 1);
  EXPECT_TRUE(sync->begin().empty());
  const StepPlan step = {{kExchangeGradients}, {kMakeMeanUpdate, kAddToValues}};
  EXPECT_EQ(sync->step(0), step);
  EXPECT_EQ(sync->step(7), step);
  EXPECT_TRUE(sync->finish(8).empty()) << "every step has ended with all updates";
}

TEST(StepPlanBoundedAndAsync, EndAStepWithValuesThatHoldItsUpdate) {
  const StepPlan step = {{kJudge}, {kMakeUpdate}, {kPushPull}, {kAwaitPushPull}, {kTake}};
  for (const Mode mode : {Mode::kBounded, Mode::kAsync}) {
    const auto waiting = step_strategy(mode, {.workers = 4, .warm_up = 1});
    EXPECT_EQ(waiting->server_rule(), Rule::kSum);
    EXPECT_EQ(waiting->share(), 1);
    EXPECT_TRUE(waiting->begin().empty());
    EXPECT_EQ(waiting->look_ahead(3), kNewestValues);
    EXPECT_EQ(waiting->step(0), step);
    EXPECT_EQ(waiting->step(5), step) << "warming up is for the eager modes";
    EXPECT_EQ(waiting->finish(6), kBarriersAroundTheLastValues);
    const auto ahead = step_strategy(mode, {.looks_ahead = true});
    EXPECT_EQ(ahead->step(0), joined(kNewestValues, step)) << "newer than the gradient's values";
  }
}

TEST(StepPlanEager, LeavesOneRoundInFlight) {
  const auto eager = step_strategy(Mode::kEager, {.workers = 4, .warm_up = 1});
  EXPECT_EQ(eager->server_rule(), Rule::kSum);
  EXPECT_EQ(eager->share(), 0.25) << "the sum of all updates is one of the mean";
  EXPECT_TRUE(eager->begin().empty());
  EXPECT_EQ(eager->step(0), (StepPlan{{kMakeUpdate}, {kPushPull}, {kAwaitPushPull}, {kTake}}));
  const StepPlan first = {{kMakeUpdate}, {kAddToValues, kPushPull}};
  const StepPlan later = {{kMakeUpdate}, {kAwaitPushPull}, {kTake, kAddToValues, kPushPull}};
  EXPECT_EQ(eager->step(1), first) << "nothing is in flight yet";
  EXPECT_EQ(eager->step(2), later);
  EXPECT_EQ(eager->step(3), later);
  EXPECT_EQ(eager->finish(4),
            (StepPlan{{kAwaitPush}, {kAwaitPull}, {kPull}, {kAwaitPull}, {kTake}}))
      << "rounds keep the workers in step, so no barrier is wanted";
  EXPECT_EQ(eager->step(4), first);
}

TEST(StepPlanEager, WithoutOverlayTakesBeforeNextPush) {
  const auto eager = step_strategy(Mode::kEager, {.overlay = false});
  EXPECT_EQ(eager->step(0), (StepPlan{{kMakeUpdate}, {kPushPull}}));
  EXPECT_EQ(eager->step(1), (StepPlan{{kMakeUpdate}, {kAwaitPushPull}, {kTake, kPushPull}}));
}

const StepPlan kEagerAsyncStep = {
    {kAwaitPull}, {kAwaitPush}, {kJudgeLate}, {kAddMissing}, {kMakeUpdate, kAddToIncoming, kTake},
    {kPull},      {kPush}};

TEST(StepPlanEagerAsync, AsksForValuesBeforeItsUpdateGoes) {
  const auto eager = step_strategy(Mode::kEagerAsync, {.workers = 4});
  EXPECT_EQ(eager->server_rule(), Rule::kSum);
  EXPECT_EQ(eager->share(), 1);
  EXPECT_EQ(eager->begin(), (StepPlan{{kPull}})) << "those of the first step";
  EXPECT_EQ(eager->step(0), kEagerAsyncStep);
  EXPECT_EQ(eager->step(1), kEagerAsyncStep);
  EXPECT_EQ(eager->finish(2), joined(kBarriersAroundTheLastValues, {{kPull}}));
  EXPECT_EQ(eager->step(2), kEagerAsyncStep);
}

TEST(StepPlanEagerAsync, WaitsForItsUpdatesWhileItWarmsUp) {
  const StepPlan cold = {{kJudge}, {kMakeUpdate}, {kPushPull}, {kAwaitPushPull}, {kTake}};
  const auto eager = step_strategy(Mode::kEagerAsync, {.warm_up = 2});
  EXPECT_TRUE(eager->begin().empty());
  EXPECT_EQ(eager->look_ahead(1), kNewestValues);
  EXPECT_EQ(eager->step(0), cold);
  EXPECT_EQ(eager->finish(1), kBarriersAroundTheLastValues);
  EXPECT_EQ(eager->step(1), joined(cold, {{kPull}})) << "the next step is warm";
  EXPECT_EQ(eager->step(2), kEagerAsyncStep);
}

TEST(StepPlanEagerAsync, LookAheadAddsMissingUpdatesOncePerStep) {
  const auto eager = step_strategy(Mode::kEagerAsync, {});
  const StepPlan awaited = {{kAwaitPull}, {kAddMissing}};
  for (std::uint64_t done = 0; done < 2; ++done) {
    EXPECT_EQ(eager->look_ahead(done), awaited);
    EXPECT_EQ(eager->look_ahead(done), (StepPlan{{kAwaitPull}})) << "a second call adds nothing";
    const StepPlan step = eager->step(done);
    EXPECT_EQ(std::ranges::count(step, StepStage{kAddMissing}), 0);
  }
  EXPECT_EQ(eager->step(2), kEagerAsyncStep);
  EXPECT_EQ(eager->look_ahead(3), awaited);
  (void)eager->finish(3);
  EXPECT_EQ(eager->look_ahead(3), awaited) << "other values have been asked for";
}

TEST(StepPlanEagerAsync, AddsNothingOfItsOwnWithoutTheOverlay) {
  const auto eager = step_strategy(Mode::kEagerAsync, {.overlay = false});
  EXPECT_EQ(eager->look_ahead(0), (StepPlan{{kAwaitPull}}));
  EXPECT_EQ(
      eager->step(0),
      (StepPlan{{kAwaitPull}, {kAwaitPush}, {kJudgeLate}, {kMakeUpdate, kTake}, {kPull}, {kPush}}));
}

TEST(StepPlan, ActionsThatAreDoneOnceStandAlone) {
  for (const Mode mode :
       {Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager, Mode::kEagerAsync}) {
    const auto strategy = step_strategy(mode, {.warm_up = 1, .looks_ahead = true});
    StepPlan all = strategy->begin();
    for (std::uint64_t done = 0; done < 4; ++done) all = joined(all, strategy->step(done));
    all = joined(all, strategy->finish(4));
    for (const StepStage& stage : all) {
      ASSERT_FALSE(stage.empty());
      EXPECT_TRUE(stage.size() == 1 || std::ranges::none_of(stage, is_once));
    }
  }
}

}  // namespace
}  // namespace stretto
