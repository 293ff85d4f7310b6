// SPDX-License-Identifier: Apache-2.0
// Whose turn it is, by what links offer.
#include "van/queue/link_arbiter.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

class LinkArbiterTest : public testing::Test {
 protected:
  LinkArbiterTest() {
    for (LinkId link : {1U, 2U, 3U}) windows_.add(link);
    for (LinkId link : {2U, 3U}) windows_.shape(link, {1000, 100}, {1000, 100});
    windows_.set_shaped(500, 500);
  }
  void offer(LinkId link, std::int32_t priority, std::uint64_t oldest) {
    arbiter_.offer(link, link > 1,
                   {.urgency = {priority}, .oldest = oldest, .room = 200, .urgent = false});
  }
  LinkId turn(Candidates among = Candidates::kAll) {
    arbiter_.begin();
    return arbiter_.most_urgent(windows_, among).value_or(0);
  }

  SendWindows windows_{1000, 1000};
  LinkArbiter arbiter_;
};

TEST_F(LinkArbiterTest, EqualsTakeTurnsOverShapedLinksAndOthers) {
  for (LinkId link : {1U, 2U, 3U}) offer(link, 0, link);
  std::vector<LinkId> turns;
  for (int i = 0; i < 6; ++i) {
    turns.push_back(turn());
    arbiter_.served(turns.back(), 100);
  }
  EXPECT_EQ(turns, (std::vector<LinkId>{1, 2, 3, 1, 2, 3}));
  offer(3, 1, 3);
  EXPECT_EQ(turn(), 3U) << "the most urgent";
  EXPECT_EQ(turn(Candidates::kUnshaped), 1U);
}

TEST_F(LinkArbiterTest, AShutWindowOfShapedLinksHoldsThemBack) {
  windows_.note_sent(2, 400);
  offer(3, 1, 1);
  EXPECT_EQ(turn(), 0U);
  EXPECT_TRUE(arbiter_.held_back());
  EXPECT_EQ(turn(Candidates::kUnshaped), 0U);
  EXPECT_FALSE(arbiter_.held_back()) << "nobody asked for them";
  offer(1, 0, 2);
  EXPECT_EQ(turn(), 1U);
  EXPECT_TRUE(windows_.credited(2, 400));
  EXPECT_EQ(turn(), 3U);
}

TEST_F(LinkArbiterTest, ALinkThatIsShapedLeavesTheOthers) {
  offer(1, 0, 1);
  windows_.shape(1, {1000, 100}, {1000, 100});
  arbiter_.offer(1, true, {.urgency = {0}, .oldest = 1, .room = 200, .urgent = false});
  EXPECT_EQ(turn(Candidates::kUnshaped), 0U);
  EXPECT_EQ(turn(), 1U);
  arbiter_.withdraw(1);
  EXPECT_EQ(turn(), 0U);
}

TEST_F(LinkArbiterTest, TheLongestWaitingHasOneByteInThirtyTwo) {
  arbiter_.served(1, 127 << 10);
  EXPECT_FALSE(arbiter_.may_be_aged());
  arbiter_.served(1, 1 << 10);
  EXPECT_TRUE(arbiter_.may_be_aged());
  EXPECT_TRUE(arbiter_.is_aged(4 << 10));
  EXPECT_FALSE(arbiter_.is_aged((4 << 10) + 1));
  arbiter_.note_aged();
  EXPECT_FALSE(arbiter_.may_be_aged());
}

TEST_F(LinkArbiterTest, ControlGoesOfTheLeastLink) {
  EXPECT_FALSE(arbiter_.control());
  for (LinkId link : {3U, 2U}) arbiter_.set_control(link, true);
  EXPECT_EQ(arbiter_.control(), 2U);
  arbiter_.set_control(2, false);
  EXPECT_EQ(arbiter_.control(), 3U);
}

}  // namespace
}  // namespace stretto
