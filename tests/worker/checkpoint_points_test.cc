// SPDX-License-Identifier: Apache-2.0
// Offers pass, are taken, or wait; the program's fast way and the loop agree on which has passed.
#include "worker/checkpoint/checkpoint_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CheckpointPointsTest : public testing::Test {
 protected:
  // As the program does.
  void offer(std::uint64_t step) {
    if (offers_.word()->pass(step)) {
      due_.push_back(false);
      return;
    }
    offers_.offer(step, [this](const Result<bool>& due) {
      if (due.ok()) due_.push_back(*due);
      if (!due.ok()) failed_.push_back(due.status());
    });
  }
  void ask(std::uint64_t question) { offers_.on_asked({.number = question, .checkpoint = true}); }
  void decide(std::uint64_t from) {
    offers_.on_asked({.number = 1, .step = from, .checkpoint = true});
  }

  sim::VirtualClock clock_;
  std::vector<control::AtStep> told_;
  CheckpointPoints offers_{clock_, 10s,
                           [this](const control::AtStep& said) { told_.push_back(said); }};
  std::vector<bool> due_;
  std::vector<Status> failed_;
};

TEST_F(CheckpointPointsTest, ReportsHoldTimeSinceDueOrCall) {
  const Time called = clock_.now();
  clock_.advance_to(called + 3s);
  offers_.returned(called);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_TRUE(told_[0].checkpoint);
  EXPECT_EQ(told_[0].number, 0U);
  EXPECT_EQ(told_[0].held_us, 3'000'000U);
  ask(1);
  decide(1);
  offer(7);
  ASSERT_THAT(due_, ElementsAre(true));
  clock_.advance_to(called + 5s);
  offers_.taken();
  offers_.returned(called + 4s);
  EXPECT_EQ(told_.back().held_us, 2'000'000U) << "the program was told that it was due before";
  offers_.returned(called + 4s);
  EXPECT_EQ(told_.back().held_us, 1'000'000U) << "and that is of one only";
  const std::size_t count = told_.size();
  offers_.end_all(Status(Code::kCancelled, "over"));
  offers_.returned(called);
  EXPECT_THAT(told_, SizeIs(count)) << "nobody hears it any more";
}

TEST_F(CheckpointPointsTest, PassedPointIsReportedAndLaterPointsWait) {
  offer(5);
  ask(1);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(told_[0].step, 5U);
  EXPECT_TRUE(told_[0].checkpoint);
  offer(6);
  EXPECT_THAT(due_, ElementsAre(false)) << "it waits";
  EXPECT_FALSE(offers_.idle());
  decide(7);
  EXPECT_THAT(due_, ElementsAre(false, false)) << "another has let 6 pass";
  offer(9);
  EXPECT_THAT(due_, ElementsAre(false, false, true)) << "the first from 7 on";
  offers_.taken();
  offer(10);
  EXPECT_THAT(due_, ElementsAre(false, false, true, false));
  EXPECT_TRUE(offers_.word()->pass(11)) << "nobody asks any more";
}

TEST_F(CheckpointPointsTest, OneThatTheProgramWantsMakesAnAnswerNeedless) {
  ask(1);
  decide(3);
  offers_.taken();
  offer(4);
  EXPECT_THAT(due_, ElementsAre(false));
  ask(2);
  offer(5);
  offers_.taken();
  EXPECT_THAT(due_, ElementsAre(false, false)) << "also of one that waits";
}

TEST_F(CheckpointPointsTest, PendingOffersNeverWaitForever) {
  ask(1);
  offer(1);
  offer(2);
  ASSERT_THAT(failed_, SizeIs(1)) << "two threads";
  EXPECT_EQ(failed_[0].code(), Code::kInvalidArgument);
  clock_.advance_to(offers_.next_due());
  offers_.tick();
  ASSERT_THAT(failed_, SizeIs(2));
  EXPECT_EQ(failed_[1].code(), Code::kTimeout);
  offer(3);
  offers_.end_all({Code::kSchedulerLost, "gone"});
  ASSERT_THAT(failed_, SizeIs(3));
  EXPECT_EQ(failed_[2].code(), Code::kSchedulerLost);
  offer(4);
  ASSERT_THAT(failed_, SizeIs(4));
  EXPECT_THAT(due_, IsEmpty());
  EXPECT_TRUE(offers_.idle());
}

}  // namespace
}  // namespace stretto
