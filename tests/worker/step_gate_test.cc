// SPDX-License-Identifier: Apache-2.0
// Steps that begin at once, steps that wait, and announcements of joining workers to shards.
#include "worker/elastic/step_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/sim/sim_network.h"
#include "worker/elastic/step_tracker.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StepGateTest : public testing::Test {
 protected:
  // The result of begin(); nothing while it waits.
  std::optional<Result<StepBegin>> begin(std::uint64_t step) {
    const auto began = std::make_shared<std::optional<Result<StepBegin>>>();
    last_ = began;
    steps_.gate().begin(step, [began](const Result<StepBegin>& how) { *began = how; });
    return *began;
  }
  void ask(std::uint64_t question) { steps_.gate().on_question({.number = question}); }
  // The answer: `newcomers` join before this step.
  void answer(std::uint64_t question, std::uint64_t step, const std::vector<NodeId>& newcomers) {
    Roster roster{.epoch = ++epoch_, .question = question, .step = step};
    for (const NodeId node : newcomers) {
      roster.members.push_back({.node = node, .address = {}, .from_step = step});
    }
    steps_.tick(&roster);
  }

  sim::VirtualClock clock_;
  bool at_rest_ = true;
  std::vector<control::AtStep> told_scheduler_;
  std::vector<control::TakeIn> told_shards_;
  std::uint64_t barriers_before_ = 0;
  std::uint32_t epoch_ = 0;
  std::shared_ptr<std::optional<Result<StepBegin>>> last_;
  StepTracker steps_{
      clock_,
      5s,
      1s,
      {.gate = {
           .tell_scheduler =
               [this](const control::AtStep& said) { told_scheduler_.push_back(said); },
           .tell_shards = [this](const control::TakeIn& said) { told_shards_.push_back(said); },
           .is_at_rest = [this] { return at_rest_; },
           .barriers = [] { return 3; }},
       .entered = [this](std::uint64_t barriers) { barriers_before_ = barriers; }}};
};

TEST_F(StepGateTest, StepBeginsAtOnceWithoutNewcomers) {
  EXPECT_FALSE(steps_.gate().count()->is_asked());
  EXPECT_EQ((*begin(1))->step, 1U);
  EXPECT_EQ(steps_.gate().count()->begun(), 1U);
  EXPECT_THAT(told_scheduler_, IsEmpty());
}

TEST_F(StepGateTest, NoStepBeginsBeforeTheAnswer) {
  for (std::uint64_t step = 1; step <= 5; ++step) begin(step);
  ask(1);
  ASSERT_EQ(told_scheduler_.size(), 1U) << "at once: the program may wait for others";
  EXPECT_EQ(told_scheduler_[0].step, 5U);
  EXPECT_FALSE(begin(6).has_value());
  answer(1, 7, {9});
  ASSERT_TRUE(last_->has_value());
  EXPECT_EQ((**last_)->newcomers, 0U) << "another worker was in step 6: they come before step 7";
  EXPECT_THAT(told_shards_, IsEmpty());
}

/// In these steps the programs agree on what they train.
TEST_F(StepGateTest, NewSchedulerGetsSameAnswerUntilDecision) {
  for (std::uint64_t step = 1; step <= 4; ++step) begin(step);
  ask(1);
  ask(1);
  ASSERT_EQ(told_scheduler_.size(), 2U);
  EXPECT_EQ(told_scheduler_[1].number, 1U);
  EXPECT_EQ(told_scheduler_[1].step, told_scheduler_[0].step);
  answer(1, 5, {9});
  ask(1);
  EXPECT_EQ(told_scheduler_.size(), 2U);
}

TEST_F(StepGateTest, NewcomerReportsProgressToNewScheduler) {
  steps_.tell_again();
  EXPECT_THAT(told_scheduler_, IsEmpty()) << "who was there from the begin";
  Roster roster{.epoch = 3, .members = {{.node = 9, .address = {}, .joining = true}}};
  EXPECT_FALSE(steps_.takes_part(roster, 9, 1));
  steps_.tell_again();
  ASSERT_EQ(told_scheduler_.size(), 2U);
  EXPECT_EQ(told_scheduler_[1].step, 0U);
  steps_.on_taken_in(0, {.step = 6, .nodes = {9}});
  steps_.tell_again();
  ASSERT_EQ(told_scheduler_.size(), 4U);
  EXPECT_EQ(told_scheduler_[3].step, 6U);
  EXPECT_EQ(told_scheduler_[3].number, 0U);
}

TEST_F(StepGateTest, NewcomersCannotJoinInFirstTwoSteps) {
  ask(1);
  EXPECT_EQ(told_scheduler_[0].step, 2U);
  EXPECT_TRUE(begin(1).has_value());
  EXPECT_TRUE(begin(2).has_value());
  EXPECT_FALSE(begin(3).has_value());
}

/// It is about to begin the step at which it joined; no other worker may join there.
TEST_F(StepGateTest, EnteringWorkerIsInItsFirstStep) {
  steps_.gate().enter({.step = 40, .nodes = {7}});
  ask(3);
  EXPECT_EQ(told_scheduler_.back().step, 40U);
  EXPECT_EQ((*begin(40))->newcomers, 1U);
  EXPECT_FALSE(begin(41).has_value());
  answer(3, 41, {9});
  EXPECT_EQ((**last_)->newcomers, 1U);
}

/// The program's thread begins steps while the loop asks: none begins beyond the answer.
TEST(StepCount, AskReportsStepThatHasBegun) {
  for (int times = 0; times < 200; ++times) {
    StepCount count;
    std::atomic<std::uint64_t> begun = 0;
    std::thread program([&] {
      while (const std::optional<std::uint64_t> step = count.begin()) begun = *step;
    });
    while (begun == 0) {
    }
    const std::uint64_t told = count.ask(true);
    program.join();
    ASSERT_EQ(begun, told);
    ASSERT_EQ(count.begun(), told);
  }
}

TEST_F(StepGateTest, ShardsAreToldWhenAllThatWasBegunIsDone) {
  begin(1);
  ask(1);
  begin(2);
  at_rest_ = false;
  answer(1, 3, {8, 9});
  EXPECT_FALSE(begin(3).has_value());
  at_rest_ = true;
  steps_.tick(nullptr);
  ASSERT_TRUE(last_->has_value());
  EXPECT_EQ((**last_)->newcomers, 2U);
  EXPECT_FALSE((**last_)->comes_in);
  ASSERT_EQ(told_shards_.size(), 1U);
  EXPECT_EQ(told_shards_[0].step, 3U);
  EXPECT_EQ(told_shards_[0].barriers, 3U);
  EXPECT_THAT(told_shards_[0].nodes, ElementsAre(8, 9));
  EXPECT_FALSE(steps_.gate().count()->is_asked());
}

TEST_F(StepGateTest, ANewcomerThatIsLostMeanwhileChangesNothing) {
  begin(1);
  begin(2);
  ask(1);
  EXPECT_FALSE(begin(3).has_value());
  answer(1, 3, {});
  EXPECT_TRUE(last_->has_value());
  EXPECT_THAT(told_shards_, IsEmpty());
}

TEST_F(StepGateTest, ANewQuestionTakesNothingFromAnOlderAnswer) {
  begin(1);
  ask(1);
  answer(1, 3, {9});
  ask(2);  // Another worker has told the shards of 9, and 10 has arrived.
  EXPECT_EQ(told_scheduler_.back().step, 3U);
  EXPECT_EQ((*begin(2))->newcomers, 0U);
  EXPECT_EQ((*begin(3))->newcomers, 1U);
  EXPECT_FALSE(begin(4).has_value());
  answer(2, 5, {10});
  EXPECT_EQ((**last_)->newcomers, 0U);
  EXPECT_EQ((*begin(5))->newcomers, 1U);
  ASSERT_EQ(told_shards_.size(), 2U);
  EXPECT_THAT(told_shards_[0].nodes, ElementsAre(9));
  EXPECT_THAT(told_shards_[1].nodes, ElementsAre(10));
}

TEST_F(StepGateTest, WorkerThatSatOutReportsNothing) {
  begin(1);
  ask(1);
  answer(1, 3, {9});
  steps_.gate().catch_up(6);
  EXPECT_TRUE(begin(7).has_value());
  EXPECT_THAT(told_shards_, IsEmpty());
}

TEST_F(StepGateTest, NothingWaitsForEver) {
  begin(1);
  begin(2);
  ask(1);
  EXPECT_FALSE(begin(3).has_value());
  clock_.advance_to(steps_.next_due());
  steps_.tick(nullptr);
  ASSERT_TRUE(last_->has_value());
  EXPECT_EQ((*last_)->status().code(), Code::kTimeout);
  EXPECT_THAT((*last_)->status().cause(), HasSubstr("the scheduler has not said"));
  begin(3);
  steps_.gate().end_all({Code::kPeerLost, "worker 1 is lost"});
  EXPECT_EQ((*last_)->status().code(), Code::kPeerLost);
  EXPECT_EQ(begin(3)->status().code(), Code::kPeerLost);
}

TEST_F(StepGateTest, ANewcomerIsInOnceAllShardsHaveTakenItIn) {
  const Roster roster{.epoch = 1, .members = {{.node = 9, .address = {}, .joining = true}}};
  EXPECT_FALSE(steps_.takes_part(roster, 9, 2));
  ASSERT_EQ(told_scheduler_.size(), 1U);
  EXPECT_EQ(told_scheduler_[0].number, 0U);
  const control::TakeIn said{.step = 40, .barriers = 7, .nodes = {9}};
  steps_.on_taken_in(4, said);
  steps_.on_taken_in(4, said);
  EXPECT_EQ(told_scheduler_.size(), 1U) << "once for each shard";
  steps_.on_taken_in(5, said);
  EXPECT_FALSE(steps_.takes_part(roster, 9, 2)) << "it has no rank yet";
  Roster decided = roster;
  decided.members[0].joining = false;
  EXPECT_TRUE(steps_.takes_part(decided, 9, 2));
  EXPECT_EQ(told_scheduler_.back().step, 40U);
  EXPECT_EQ(barriers_before_, 7U);
  EXPECT_EQ(steps_.gate().count()->begun(), 39U);
  const auto first = begin(40);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE((*first)->comes_in);
  EXPECT_EQ((*first)->newcomers, 1U);
  EXPECT_FALSE((*begin(41))->comes_in);
  EXPECT_FALSE(steps_.too_late());
}

TEST_F(StepGateTest, ANewcomerWaitsForAWorkerThatPauses) {
  const Roster roster{.epoch = 1, .members = {{.node = 9, .address = {}, .joining = true}}};
  EXPECT_FALSE(steps_.takes_part(roster, 9, 2));
  const Time due = steps_.next_due();
  clock_.advance_to(due - 100ms);
  steps_.excuse(clock_.now());
  EXPECT_GT(steps_.next_due(), due);
  clock_.advance_to(due);
  EXPECT_FALSE(steps_.too_late());
  clock_.advance_to(steps_.next_due());
  EXPECT_TRUE(steps_.too_late());
}

TEST_F(StepGateTest, UnadmittedNewcomerTimesOutWithCause) {
  const Roster roster{.epoch = 1, .members = {{.node = 9, .address = {}, .joining = true}}};
  EXPECT_TRUE(steps_.takes_part(roster, 8, 2)) << "who was there from the begin is in";
  EXPECT_FALSE(steps_.takes_part(roster, 9, 2));
  clock_.advance_to(steps_.next_due());
  EXPECT_TRUE(steps_.too_late());
  EXPECT_THAT(JoinProgress::too_late().cause(), HasSubstr("stretto::ProgramSteps"));
}

}  // namespace
}  // namespace stretto
