// SPDX-License-Identifier: Apache-2.0
// What a part does at a time and in which order, without any frame.
#include "worker/operations/part_state.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using Kind = Operation::Kind;
using Verdict = PartState::Verdict;
constexpr auto kShares = PartState::kShares;
constexpr auto kPulls = PartState::kPulls;

OperationPtr operation(Kind kind) {
  auto made = std::make_shared<Operation>();
  made->kind = kind;
  return made;
}

class PartStateTest : public testing::Test {
 protected:
  PartState part_{7, true, nullptr};
  PartState async_{7, false, nullptr};
  const OperationPtr push_ = operation(Kind::kPush);
  const OperationPtr push_pull_ = operation(Kind::kPushPull);
  const OperationPtr pull_ = operation(Kind::kPull);
};

TEST_F(PartStateTest, LaneRunsOneOperationInOrder) {
  EXPECT_TRUE(part_.enter(kShares, push_pull_));
  EXPECT_FALSE(part_.enter(kShares, pull_));
  EXPECT_FALSE(part_.enter(kShares, push_));
  EXPECT_EQ(part_.next(kShares), nullptr) << "the first is not over";
  EXPECT_EQ(part_.end(kShares), push_pull_);
  EXPECT_EQ(part_.next(kShares), pull_);
  EXPECT_EQ(part_.rounds(), 1U);
  EXPECT_EQ(part_.rounds_begun(), 2U) << "with the push that waits";
  part_.end(kShares);
  EXPECT_EQ(part_.next(kShares), push_);
  EXPECT_EQ(part_.rounds(), 2U);
  EXPECT_EQ(part_.next(kShares), nullptr);
}

TEST_F(PartStateTest, LanesGoIndependently) {
  EXPECT_TRUE(part_.enter(kShares, push_pull_));
  EXPECT_TRUE(part_.enter(kPulls, pull_));
  EXPECT_EQ(part_.current(kPulls), pull_);
}

TEST_F(PartStateTest, APullMayGoWhileOurRoundIsOpenAndAShareMayNot) {
  EXPECT_TRUE(part_.enter(kShares, push_));
  EXPECT_FALSE(part_.settled());
  part_.end(kShares);
  EXPECT_TRUE(part_.enter(kShares, pull_));
  part_.end(kShares);
  EXPECT_FALSE(part_.enter(kShares, push_pull_));
  part_.end_round();
  EXPECT_EQ(part_.next(kShares), push_pull_);
  EXPECT_TRUE(part_.settled()) << "the value will tell";
}

TEST_F(PartStateTest, WithoutCollectedRoundsSharesFollowOneAnother) {
  EXPECT_TRUE(async_.enter(kShares, push_));
  async_.end(kShares);
  EXPECT_TRUE(async_.settled());
  EXPECT_TRUE(async_.enter(kShares, push_pull_));
}

TEST_F(PartStateTest, APausedOperationHoldsUpItsLane) {
  push_->paused = true;
  EXPECT_FALSE(part_.enter(kShares, push_));
  EXPECT_EQ(part_.next(kShares), nullptr);
  push_->paused = false;
  EXPECT_EQ(part_.next(kShares), push_);
}

TEST_F(PartStateTest, AShareThatIsTakenBackLeavesItsRoundToTheNext) {
  part_.enter(kShares, push_);
  part_.take_back(kShares, pull_);
  EXPECT_EQ(part_.current(kShares), push_) << "it is not that one's";
  part_.take_back(kShares, push_);
  EXPECT_EQ(part_.current(kShares), nullptr);
  EXPECT_EQ(part_.rounds(), 0U);
  EXPECT_TRUE(part_.settled());
}

TEST_F(PartStateTest, GivenUpPullBlocksOnlyFurtherPulls) {
  part_.enter(kShares, pull_);
  part_.give_up(kShares, pull_);
  EXPECT_TRUE(part_.enter(kShares, push_pull_));
  EXPECT_EQ(part_.judge(kShares, false), Verdict::kGivenUp);
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kWanted) << "it answers the share";
  part_.end(kShares);
  const OperationPtr next = operation(Kind::kPull);
  EXPECT_FALSE(part_.enter(kShares, next));
  EXPECT_TRUE(part_.take_given_up(kShares));
  EXPECT_FALSE(part_.take_given_up(kShares)) << "once";
  EXPECT_EQ(part_.next(kShares), next);
}

TEST_F(PartStateTest, GivingUpQueuedOperationLeavesNoTrace) {
  part_.enter(kShares, push_pull_);
  part_.enter(kShares, pull_);
  part_.give_up(kShares, pull_);
  part_.end(kShares);
  EXPECT_EQ(part_.next(kShares), nullptr);
  EXPECT_FALSE(part_.take_given_up(kShares));
}

TEST_F(PartStateTest, VerdictDependsOnCurrentOperation) {
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kUnwanted);
  part_.enter(kShares, push_);
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kUnwanted) << "a push wants none";
  part_.end(kShares);
  part_.end_round();
  part_.enter(kShares, push_pull_);
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kWanted);
  part_.codec.encoding = true;
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kTooEarly);
  part_.codec.encoding = false;
  part_.codec.decoding = true;
  EXPECT_EQ(part_.judge(kShares, true), Verdict::kUnwanted) << "it has one";
  part_.give_up(kShares, push_pull_);
  EXPECT_EQ(part_.current(kShares), push_pull_) << "its codec writes to its memory";
}

TEST_F(PartStateTest, ClearForgetsWaitingOperations) {
  part_.enter(kShares, push_);
  part_.enter(kShares, pull_);
  part_.clear();
  EXPECT_EQ(part_.current(kShares), nullptr);
  EXPECT_EQ(part_.next(kShares), nullptr);
}

TEST(PartStateDeathTest, ALanesOperationDoesNotEndTwice) {
  PartState part(7, true, nullptr);
  EXPECT_DEATH(part.end(kShares), "current != nullptr");
}

TEST(LastValue, AValueIsStaleByTheUpdatesOfOthersSinceTheLast) {
  LastValue last;
  last.note({.version = 4, .own_applied = 2});
  const ValueInfo info = last.info_of({.version = 9, .slowest = 3, .own_applied = 4, .spread = 2});
  EXPECT_EQ(info.version, 9U);
  EXPECT_EQ(info.staleness, 3U) << "five are new, two of them ours";
  EXPECT_EQ(info.applied, 4U);
  EXPECT_EQ(info.slowest, 3U);
  EXPECT_EQ(info.spread, 2U);
  EXPECT_EQ(last.info_of({.version = 3}).staleness, 0U) << "what goes back is not stale";
}

}  // namespace
}  // namespace stretto
