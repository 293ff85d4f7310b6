// SPDX-License-Identifier: Apache-2.0
// Successive rounds, and the round that is made again after a loss.
#include "collective/part_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Send = Effects::Send;
using Verdict = PartRounds::Verdict;

/// A chain 0 - 1 - 2, tested at 1, or without 2.
Tree chain(bool whole = true) { return *Tree::of({0, 0, whole ? 1 : kNobody}); }

IndexSet three(const std::vector<Place>& places) {
  IndexSet made(3);
  for (const Place place : places) made.insert(place);
  return made;
}

class PartRoundsTest : public testing::Test {
 protected:
  void make_round() {
    rounds_.begin(Given::kSum);
    ASSERT_TRUE(rounds_.partial(2, three({2}), Given::kSum).ok());
    ASSERT_TRUE(rounds_.value(0, three({0, 1, 2}))->done);
    EXPECT_FALSE(rounds_.again());
    rounds_.next();
  }

  PartRounds rounds_{chain().node(1), Reduction::Order::kArrival, 1};
};

TEST_F(PartRoundsTest, FollowOneAnother) {
  for (std::uint64_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(rounds_.round(), round);
    EXPECT_EQ(rounds_.finished(), round - 1);
    make_round();
  }
}

TEST_F(PartRoundsTest, AChildMayComeFirst) {
  ASSERT_TRUE(rounds_.partial(2, three({2}), Given::kSum).ok());
  EXPECT_EQ(rounds_.begin(Given::kSum).send, Send::kUp);
}

TEST_F(PartRoundsTest, FramesAreKnownByTheirEpochAndRound) {
  make_round();
  EXPECT_EQ(rounds_.admit(1, 2), Verdict::kNow);
  EXPECT_EQ(rounds_.admit(1, 1), Verdict::kPast);
  EXPECT_EQ(rounds_.admit(1, 3), Verdict::kWrong);
  EXPECT_EQ(rounds_.admit(2, 2), Verdict::kEarly);
  rounds_.stop();
  EXPECT_EQ(rounds_.admit(1, 2), Verdict::kPast);
  ASSERT_TRUE(rounds_.resume(2, chain(false).node(1), 1).ok());
  EXPECT_EQ(rounds_.admit(1, 2), Verdict::kPast);
  EXPECT_EQ(rounds_.admit(2, 2), Verdict::kNow);
}

TEST_F(PartRoundsTest, ResumeRestartsOpenRoundFromOwnSum) {
  rounds_.begin(Given::kSum);
  ASSERT_TRUE(rounds_.partial(2, three({2}), Given::kSum).ok());
  rounds_.stop();
  const Effects again = *rounds_.resume(2, chain(false).node(1), 0);
  EXPECT_THAT(again.add, ElementsAre(1));
  EXPECT_EQ(again.send, Send::kUp);
  EXPECT_THAT(rounds_.reduction().contributors().members(), ElementsAre(1));
  EXPECT_TRUE(rounds_.value(0, three({0, 1}))->done);
}

TEST_F(PartRoundsTest, ContributionWhileStoppedWaitsForResume) {
  rounds_.stop();
  const Effects kept = rounds_.begin(Given::kSum);
  EXPECT_THAT(kept.add, IsEmpty());
  EXPECT_EQ(kept.send, Send::kNothing);
  EXPECT_EQ(rounds_.resume(2, chain(false).node(1), 0)->send, Send::kUp);
}

TEST_F(PartRoundsTest, ResumeReplaysFinishedRoundThenContinues) {
  make_round();
  rounds_.begin(Given::kSum);
  rounds_.stop();
  const Effects value = *rounds_.resume(2, chain(false).node(1), 0);
  EXPECT_EQ(value.adopt, 1U);
  EXPECT_EQ(value.send, Send::kUp);
  EXPECT_EQ(rounds_.round(), 1U);
  EXPECT_THAT(rounds_.reduction().contributors().members(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(rounds_.value(0, three({0, 1, 2}))->done);
  EXPECT_TRUE(rounds_.again());
  const Effects own = rounds_.next();
  EXPECT_THAT(own.add, ElementsAre(1)) << "of the round that it had begun before";
  EXPECT_EQ(own.send, Send::kUp);
  EXPECT_TRUE(rounds_.value(0, three({0, 1}))->done);
  EXPECT_FALSE(rounds_.again());
  EXPECT_EQ(rounds_.finished(), 2U);
}

TEST_F(PartRoundsTest, ResumeRejectsStaleEpochAndWrongRound) {
  make_round();
  EXPECT_THAT(rounds_.resume(1, chain().node(1), 1).status().text(),
              HasSubstr("epoch 1 came after epoch 1"));
  EXPECT_THAT(rounds_.resume(2, chain().node(1), 2).status().text(),
              HasSubstr("all are said to have finished round 2, and here round 1 was the last"));
  make_round();
  EXPECT_EQ(rounds_.resume(2, chain().node(1), 0).status().code(), Code::kMalformed);
  EXPECT_EQ(rounds_.epoch(), 1U);
}

/// Its first contribution waits until the number of its first round is known.
TEST(PartRounds, LateJoinerStartsAfterFinishedRounds) {
  PartRounds rounds(chain().node(1), Reduction::Order::kArrival, 0);
  rounds.stop();
  EXPECT_EQ(rounds.begin(Given::kSum).send, Send::kNothing);
  rounds.come_after(7);
  EXPECT_EQ(rounds.resume(1, chain(false).node(1, 3), 7)->send, Send::kUp);
  EXPECT_EQ(rounds.round(), 8U);
  EXPECT_EQ(rounds.begun(), 8U);
  EXPECT_TRUE(rounds.takes_part());
  ASSERT_TRUE(rounds.value(0, three({0, 1, 2}))->done);
  EXPECT_EQ(rounds.finished(), 8U);
}

/// After a loss places are renumbered, and a value made earlier is valid for all survivors.
TEST_F(PartRoundsTest, RenumberedValueCountsForRemainingPlaces) {
  make_round();
  rounds_.stop();
  const Tree two = *Tree::of({0, 0});
  IndexSet all(2);
  all.insert(0);
  all.insert(1);
  rounds_.renumber(all);
  EXPECT_EQ(rounds_.resume(2, two.node(1), 0)->send, Send::kUp);
  EXPECT_EQ(rounds_.reduction().contributors(), all);
  EXPECT_TRUE(rounds_.reduction().has_value());
}

/// A held member supplies values that its peers lack; its own new rounds wait for the joins.
TEST_F(PartRoundsTest, HeldPlaceReplaysValueButBeginsNoRound) {
  make_round();
  rounds_.stop();
  rounds_.hold(true);
  EXPECT_EQ(rounds_.resume(2, chain(false).node(1, 3), 0)->send, Send::kUp);
  ASSERT_TRUE(rounds_.value(0, three({0, 1, 2}))->done);
  EXPECT_TRUE(rounds_.again());
  EXPECT_EQ(rounds_.next().send, Send::kNothing);
  EXPECT_EQ(rounds_.begin(Given::kSum).send, Send::kNothing);
  EXPECT_FALSE(rounds_.takes_part());
  rounds_.hold(false);
  EXPECT_EQ(rounds_.resume(3, chain(false).node(1, 3), 1)->send, Send::kUp);
  EXPECT_EQ(rounds_.round(), 2U);
}

}  // namespace
}  // namespace stretto::collective
