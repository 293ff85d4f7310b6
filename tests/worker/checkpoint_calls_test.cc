// SPDX-License-Identifier: Apache-2.0
// Calls for checkpoints: each ends once, with the one that it waits for.
#include "worker/checkpoint/checkpoint_calls.h"

#include <gtest/gtest.h>

#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

class CheckpointCallsTest : public testing::Test {
 protected:
  CheckpointCalls::Done into(std::vector<Status>& ends) {
    return [&ends](const Status& status) { ends.push_back(status); };
  }

  // The barrier opens at once, for this attempt.
  CheckpointShare begin(std::uint64_t attempt) {
    CheckpointShare begun;
    calls_.begin(7, 5, [&begun](const Result<CheckpointShare>& share) { begun = *share; });
    std::exchange(entered_, nullptr)(attempt);
    return begun;
  }
  void end(const CheckpointShare& share, std::vector<Status>& ends) {
    calls_.end(share, checkpoint::WrittenFile{.name = "mine", .seal = {}, .entries = 2},
               into(ends));
  }

  sim::VirtualClock clock_;
  BarrierCalls::Cut entered_;
  std::vector<control::CheckpointSaved> told_;
  std::vector<std::uint64_t> asked_;
  CheckpointCalls calls_{
      clock_,
      10s,
      {.enter = [this](std::uint64_t, std::uint64_t,
                       BarrierCalls::Cut cut) { entered_ = std::move(cut); },
       .awaits_cut = [this] { return entered_ != nullptr; },
       .tell_scheduler = [this](const control::CheckpointSaved& saved) { told_.push_back(saved); },
       .ask = [this](const control::CheckpointEnded& ended) { asked_.push_back(ended.number); },
       .answer = [](const control::AtStep&) {}}};
  std::vector<Status> first_;
  std::vector<Status> second_;
};

TEST_F(CheckpointCallsTest, EndWithTheirOwn) {
  end(begin(1), first_);
  end(begin(1), second_);
  EXPECT_TRUE(told_.empty()) << "nothing was to be written";
  calls_.on_ended({.number = 2});
  EXPECT_TRUE(first_.empty());
  calls_.on_ended({.number = 1, .why = {Code::kResource, "full"}});
  ASSERT_EQ(first_.size(), 1U);
  ASSERT_EQ(second_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kResource);
  EXPECT_TRUE(calls_.idle());
  calls_.on_ended({.number = 1});
  EXPECT_EQ(first_.size(), 1U);
}

TEST_F(CheckpointCallsTest, CutGoesToCallWithNextBarrier) {
  CheckpointShare first;
  calls_.begin(7, 5, [&first](const Result<CheckpointShare>& share) { first = *share; });
  calls_.on_cut({.number = 3, .workers = {7, 8}});
  std::exchange(entered_, nullptr)(1);
  ASSERT_TRUE(first.cut);
  EXPECT_EQ(first.cut->number, 3U);
  EXPECT_FALSE(begin(1).cut) << "it is being written already";
  end(first, first_);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].number, 3U);
  EXPECT_EQ(told_[0].file, "mine");
  EXPECT_EQ(told_[0].entries, 2U);
}

TEST_F(CheckpointCallsTest, UnawaitedCutIsDeclined) {
  calls_.on_cut({.number = 3, .workers = {7, 8}});
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].number, 3U);
  EXPECT_EQ(told_[0].why.code(), Code::kTimeout);
  EXPECT_FALSE(begin(1).cut);
}

TEST_F(CheckpointCallsTest, CutIsAnsweredIfCallEndsFirst) {
  Status ended;
  calls_.begin(7, 5, [&ended](const Result<CheckpointShare>& share) { ended = share.status(); });
  calls_.on_cut({.number = 3, .workers = {7, 8}});
  EXPECT_TRUE(told_.empty());
  std::exchange(entered_, nullptr)(Status(Code::kTimeout, "late"));
  EXPECT_EQ(ended.code(), Code::kTimeout);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].number, 3U);
  EXPECT_FALSE(begin(1).cut);
}

TEST_F(CheckpointCallsTest, EarlyOutcomeIsReportedOnRequest) {
  const CheckpointShare first = begin(1);
  calls_.on_ended({.number = 1, .why = {Code::kResource, "full"}});
  calls_.end_all({Code::kSchedulerLost, "gone"});
  EXPECT_FALSE(calls_.idle()) << "the program writes";
  EXPECT_EQ(calls_.next_due(), Time::max());
  end(first, first_);
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kResource);
  EXPECT_TRUE(calls_.idle());
}

TEST_F(CheckpointCallsTest, WaitNoLongerThanOthers) {
  end(begin(1), first_);
  clock_.advance_to(clock_.now() + 5s);
  end(begin(2), second_);
  calls_.tick();
  EXPECT_TRUE(first_.empty());
  clock_.advance_to(calls_.next_due());
  calls_.tick();
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].code(), Code::kTimeout);
  EXPECT_TRUE(second_.empty());
  calls_.end_all({Code::kSchedulerLost, "gone"});
  EXPECT_EQ(second_.at(0).code(), Code::kSchedulerLost);
  EXPECT_EQ(calls_.next_due(), Time::max());
}

TEST_F(CheckpointCallsTest, TellsNewSchedulerWritesAndAsksOutcomes) {
  calls_.tell_again();
  EXPECT_TRUE(told_.empty() && asked_.empty());
  CheckpointShare share = begin(4);
  share.cut = control::CheckpointCut{.number = 9};
  end(share, first_);
  ASSERT_EQ(told_.size(), 1U);
  begin(5);  // Its program still writes.
  calls_.tell_again();
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1].number, 9U);
  EXPECT_EQ(told_[1].file, "mine");
  EXPECT_EQ(asked_, (std::vector<std::uint64_t>{4, 5}));
}

}  // namespace
}  // namespace stretto
