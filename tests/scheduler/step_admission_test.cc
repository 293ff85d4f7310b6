// SPDX-License-Identifier: Apache-2.0
// Who comes in, and before which step.
#include "scheduler/membership/step_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::set<NodeId> kTwoWorkers = {2, 3};

TEST(StepAdmission, AsksOnlyOnceFirstInQueueIsReady) {
  StepAdmission entrance;
  EXPECT_FALSE(entrance.ask({}));
  EXPECT_FALSE(entrance.ask({7, 8}));
  entrance.say_ready(8);
  EXPECT_FALSE(entrance.ask({7, 8}));
  entrance.say_ready(7);
  EXPECT_EQ(entrance.ask({7, 8}), 1U);
  EXPECT_FALSE(entrance.ask({7, 8})) << "one question at a time";
}

TEST(StepAdmission, AdmitsAtStepNoWorkerHasBegun) {
  StepAdmission entrance;
  entrance.say_ready(7);
  const std::uint64_t question = *entrance.ask({7});
  EXPECT_FALSE(entrance.decide(kTwoWorkers, {7}));
  EXPECT_TRUE(entrance.answer(2, question, 10));
  EXPECT_FALSE(entrance.answer(2, question, 11)) << "the first answer holds";
  EXPECT_FALSE(entrance.answer(3, question + 1, 9));
  EXPECT_FALSE(entrance.decide(kTwoWorkers, {7}));
  EXPECT_TRUE(entrance.answer(3, question, 9));
  const auto made = entrance.decide(kTwoWorkers, {7});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->question, question);
  EXPECT_EQ(made->step, 11U);
  EXPECT_THAT(made->newcomers, ElementsAre(7));
  EXPECT_FALSE(entrance.decide(kTwoWorkers, {}));
}

TEST(StepAdmission, LostWorkerOrNewcomerBlocksNoDecision) {
  StepAdmission entrance;
  entrance.say_ready(7);
  const std::uint64_t question = *entrance.ask({7});
  entrance.answer(2, question, 4);
  entrance.forget(3);
  entrance.forget(7);
  const auto made = entrance.decide({2}, {});
  ASSERT_TRUE(made.has_value()) << "who has been asked waits for an answer";
  EXPECT_EQ(made->step, 5U);
  EXPECT_THAT(made->newcomers, IsEmpty());
}

TEST(StepAdmission, AdmitsNewcomersInOrderOnceSettled) {
  StepAdmission entrance;
  for (const NodeId newcomer : {7U, 9U}) entrance.say_ready(newcomer);
  entrance.answer(2, *entrance.ask({7, 8, 9}), 1);
  EXPECT_THAT(entrance.decide({2}, {7, 8, 9})->newcomers, ElementsAre(7)) << "8 is not ready";
  entrance.say_ready(8);
  EXPECT_FALSE(entrance.ask({8, 9}));
  EXPECT_FALSE(entrance.unsettled({2, 7}));
  EXPECT_TRUE(entrance.unsettled({7})) << "nobody else is left who could take it in";
  entrance.say_settled(7);
  EXPECT_FALSE(entrance.unsettled({7}));
  EXPECT_EQ(entrance.ask({8, 9}), 2U);
}

}  // namespace
}  // namespace stretto
