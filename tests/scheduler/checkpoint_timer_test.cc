// SPDX-License-Identifier: Apache-2.0
// All workers start a checkpoint at the same offer, which no worker has passed yet.
#include "scheduler/checkpoint/checkpoint_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CheckpointTimerTest : public testing::Test {
 protected:
  void follow(Duration at, const std::vector<NodeId>& workers) { timer_.follow(Time(at), workers); }
  void told(NodeId worker, std::uint64_t step) {
    timer_.on_told(worker, {.number = said_.at(worker).number, .step = step, .checkpoint = true});
  }

  std::map<NodeId, control::AtStep> said_;
  CheckpointTimer timer_{60s, [this](NodeId node, const control::AtStep& said) {
                           EXPECT_TRUE(said.checkpoint);
                           said_[node] = said;
                         }};
};

TEST_F(CheckpointTimerTest, TakesFirstStepNoWorkerHasPassed) {
  follow(1000s, {7, 8});
  follow(1059s, {7, 8});
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(timer_.next_due(), Time(1060s));
  follow(1060s, {7, 8});
  ASSERT_THAT(said_, SizeIs(2));
  EXPECT_EQ(said_[7].step, 0U);
  told(7, 12);
  EXPECT_EQ(said_[7].step, 0U) << "the other may be further";
  told(8, 14);
  EXPECT_EQ(said_[7].step, 15U);
  EXPECT_EQ(said_[8].step, 15U);
  said_.clear();
  follow(2000s, {7, 8});
  EXPECT_THAT(said_, IsEmpty()) << "it has not been made yet";
  timer_.taken(Time(2000s));
  follow(2059s, {7, 8});
  EXPECT_THAT(said_, IsEmpty());
  follow(2060s, {7, 8});
  EXPECT_THAT(said_, SizeIs(2));
}

TEST_F(CheckpointTimerTest, NextSchedulerAsksOnceWorkersAreKnown) {
  timer_.go_on(Time(1000s));
  EXPECT_TRUE(timer_.is_looking(Time(1000s)));
  follow(1000s, {});
  EXPECT_EQ(timer_.next_due(), Time(1000s) + 100ms) << "it does not look without a pause";
  follow(1001s, {7, 8});
  EXPECT_THAT(said_, SizeIs(2));
  timer_.taken(Time(1002s));
  EXPECT_EQ(timer_.next_due(), Time(1062s));
  CheckpointTimer none(Duration::zero(), [](NodeId, const control::AtStep&) { FAIL(); });
  none.go_on(Time(1000s));
  none.follow(Time(1000s), {7});
}

TEST_F(CheckpointTimerTest, AnotherIntervalCountsFromTheLastOne) {
  follow(1000s, {7});
  timer_.set_every(100s);
  EXPECT_EQ(timer_.next_due(), Time(1100s));
  timer_.taken(Time(1010s));
  timer_.set_every(20s);
  EXPECT_EQ(timer_.next_due(), Time(1030s));
  follow(1030s, {7});
  EXPECT_THAT(said_, SizeIs(1));
  timer_.set_every(500s);
  told(7, 3);
  EXPECT_EQ(said_[7].step, 4U) << "it was due already";
  CheckpointTimer none(Duration::zero(), [](NodeId, const control::AtStep&) {});
  none.set_every(1s);
  none.follow(Time(2000s), {7});
  EXPECT_EQ(none.next_due(), Time::max());
}

TEST_F(CheckpointTimerTest, SkipsLostWorkersAndInformsNewcomers) {
  follow(1000s, {7, 8});
  follow(1060s, {7, 8});
  told(7, 3);
  follow(1061s, {7});
  EXPECT_EQ(said_[7].step, 4U);
  follow(1062s, {7, 9});
  EXPECT_EQ(said_[9].step, 4U);
  said_.clear();
  timer_.taken(Time(1062s));
  follow(1122s, {7, 9});
  told(7, 20);
  follow(1123s, {7, 9, 10});
  EXPECT_EQ(said_[10].step, 0U) << "it is asked, too";
  told(9, 21);
  told(10, 5);
  EXPECT_EQ(said_[7].step, 22U);
}

TEST_F(CheckpointTimerTest, OldAndStrangeAnswersAreNone) {
  follow(1000s, {7, 8});
  timer_.on_told(7, {.number = 1, .step = 9, .checkpoint = true});
  follow(1060s, {7, 8});
  timer_.on_told(99, {.number = 1, .step = 9, .checkpoint = true});
  timer_.on_told(7, {.number = 5, .step = 9, .checkpoint = true});
  told(8, 2);
  EXPECT_EQ(said_[8].step, 0U) << "worker 7 has said nothing of this";
  told(7, 1);
  EXPECT_EQ(said_[8].step, 3U);
  told(7, 50);
  EXPECT_EQ(said_[8].step, 3U) << "it is decided";
}

TEST_F(CheckpointTimerTest, OneThatIsWantedIsDueAtOnce) {
  timer_.hurry(Time(999s));
  EXPECT_EQ(timer_.next_due(), Time::max()) << "the job has not begun";
  follow(1000s, {7});
  timer_.hurry(Time(1010s));
  EXPECT_TRUE(timer_.is_looking(Time(1010s)));
  follow(1010s, {7});
  told(7, 3);
  EXPECT_EQ(said_[7].step, 4U);
  timer_.hurry(Time(1011s));
  timer_.taken(Time(1012s));
  EXPECT_EQ(timer_.next_due(), Time(1072s)) << "that was it";
}

TEST_F(CheckpointTimerTest, WithoutAClockNoneIsDue) {
  CheckpointTimer never(Duration::zero(),
                        [](NodeId, const control::AtStep&) { FAIL() << "nobody is asked"; });
  never.follow(Time(1000s), {7});
  never.follow(Time(100'000s), {7});
  never.hurry(Time(100'000s));
  EXPECT_EQ(never.next_due(), Time::max());
}

}  // namespace
}  // namespace stretto
