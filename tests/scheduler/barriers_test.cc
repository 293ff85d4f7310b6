// SPDX-License-Identifier: Apache-2.0
// Barriers are sets: repeated messages count once, old ones are answered, and none runs ahead.
#include "scheduler/coordination/barriers.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using Outcome = Barriers::Outcome;

TEST(Barriers, CompleteWhenAllHaveCome) {
  Barriers barriers;
  EXPECT_EQ(barriers.enter(1, 10, 3), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 12, 3), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 11, 3), Outcome::kComplete);
  EXPECT_EQ(barriers.enter(2, 11, 3), Outcome::kWaiting);
}

TEST(Barriers, ARepeatedMessageCountsOnce) {
  Barriers barriers;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(barriers.enter(1, 10, 2), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 11, 2), Outcome::kComplete);
}

TEST(Barriers, ReenteringCompleteBarrierIsPast) {
  Barriers barriers;
  EXPECT_EQ(barriers.enter(0, 10, 1), Outcome::kPast) << "there is no barrier before the first";
  EXPECT_EQ(barriers.enter(1, 10, 1), Outcome::kComplete);
  EXPECT_EQ(barriers.enter(1, 10, 1), Outcome::kPast);
  EXPECT_EQ(barriers.enter(2, 10, 1), Outcome::kComplete);
  EXPECT_EQ(barriers.enter(1, 10, 1), Outcome::kPast);
}

TEST(Barriers, RejectsEntryTwoBarriersAhead) {
  Barriers barriers;
  EXPECT_EQ(barriers.enter(2, 10, 2), Outcome::kOutOfBounds);
  EXPECT_EQ(barriers.enter(~std::uint64_t{0}, 10, 2), Outcome::kOutOfBounds);
  EXPECT_TRUE(barriers.give_up(11).empty()) << "and nothing was opened by it";
}

TEST(Barriers, GiveUpReturnsWaitersOnce) {
  Barriers barriers;
  EXPECT_TRUE(barriers.give_up(12).empty());
  barriers.enter(1, 10, 3);
  barriers.enter(1, 11, 3);
  EXPECT_TRUE(barriers.give_up(10).empty()) << "it has come";
  EXPECT_EQ(barriers.give_up(12), (std::set<NodeId>{10, 11}));
  EXPECT_TRUE(barriers.give_up(12).empty()) << "they wait no longer";
  EXPECT_EQ(barriers.enter(1, 10, 3), Outcome::kWaiting) << "and may come again";
  EXPECT_EQ(barriers.give_up(12), std::set<NodeId>{10});
}

TEST(Barriers, RejectsMixingSitOutAndBarrier) {
  Barriers barriers;
  EXPECT_EQ(barriers.enter(1, 10, 3, Meeting::kSitOut), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 11, 3, Meeting::kBarrier), Outcome::kMixed);
  EXPECT_EQ(barriers.enter(1, 11, 3, Meeting::kSitOut), Outcome::kWaiting) << "it had not come";
  EXPECT_EQ(barriers.enter(1, 12, 3, Meeting::kSitOut), Outcome::kComplete);
  EXPECT_EQ(barriers.enter(2, 10, 2, Meeting::kBarrier), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(2, 11, 2, Meeting::kSitOut), Outcome::kMixed);
  EXPECT_EQ(barriers.enter(2, 11, 2, Meeting::kBarrier), Outcome::kComplete);
}

TEST(Barriers, DepartedNodeNoLongerHoldsBarrier) {
  Barriers barriers;
  EXPECT_FALSE(barriers.expect({2, 3, 4}));
  EXPECT_EQ(barriers.enter(1, 2, 3), Barriers::Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 3, 3), Barriers::Outcome::kWaiting);
  EXPECT_FALSE(barriers.expect({3, 4})) << "who was there and is gone does not count";
  EXPECT_EQ(barriers.enter(1, 4, 2), Barriers::Outcome::kComplete);
  EXPECT_EQ(barriers.enter(2, 4, 2), Barriers::Outcome::kWaiting);
  const auto open = barriers.expect({4});
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->number, 2U);
  EXPECT_EQ(open->last, 4U);
  EXPECT_EQ(barriers.enter(2, 4, 1), Barriers::Outcome::kPast);
  EXPECT_FALSE(barriers.expect({4}));
}

TEST(Barriers, OfCheckpointsAreForOneStep) {
  Barriers barriers;
  const Purpose seven(Meeting::kCheckpoint, 7);
  const Purpose eight(Meeting::kCheckpoint, 8);
  EXPECT_EQ(barriers.enter(1, 10, 3, seven), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 11, 3, eight), Outcome::kMixed);
  EXPECT_NE(barriers.mixed(eight).cause().find("of step 8, others make one of step 7"),
            std::string::npos);
  EXPECT_EQ(barriers.enter(1, 11, 3), Outcome::kMixed);
  EXPECT_NE(barriers.mixed({}).cause().find("others make a checkpoint"), std::string::npos);
  EXPECT_EQ(barriers.enter(1, 11, 3, seven), Outcome::kWaiting);
  const auto open = barriers.expect({10, 11});
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->purpose, seven);
}

TEST(Barriers, WithdrawnEntryDoesNotCount) {
  Barriers barriers;
  EXPECT_EQ(barriers.enter(1, 10, 2), Outcome::kWaiting);
  EXPECT_FALSE(barriers.withdraw(1, 10));
  EXPECT_EQ(barriers.enter(1, 11, 2, Meeting::kSitOut), Outcome::kWaiting);
  EXPECT_EQ(barriers.enter(1, 10, 2, Meeting::kSitOut), Outcome::kComplete);
  EXPECT_TRUE(barriers.withdraw(1, 10)) << "too late";
  EXPECT_FALSE(barriers.withdraw(2, 10));
}

}  // namespace
}  // namespace stretto
