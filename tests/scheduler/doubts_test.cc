// SPDX-License-Identifier: Apache-2.0
// Which end of a broken link is more likely to be its cause.
#include "scheduler/doubts.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr Time kNow = Time(1s);
constexpr Time kLater = kNow + 2s;

class DoubtsTest : public testing::Test {
 protected:
  void broke(NodeId reporter, NodeId subject) {
    doubts_.add({.reporter = reporter, .subject = subject}, kNow - 100ms, 5s);
  }
  NodeId likelier() {
    const std::vector<Doubts::Due> due = doubts_.take_due(kLater);
    return due.empty() ? 0 : due.front().likelier;
  }

  Doubts doubts_;
};

TEST_F(DoubtsTest, ItIsWhoShowsNoSignOfLife) {
  broke(2, 9);
  doubts_.alive(9, kNow);
  EXPECT_EQ(likelier(), 2U);
  broke(9, 2);
  doubts_.alive(9, kNow);
  EXPECT_EQ(likelier(), 2U);
}

TEST_F(DoubtsTest, WhoLivesAndHasLostSeveralIsNotTheCause) {
  broke(2, 9);
  broke(2, 8);
  broke(2, 7);
  doubts_.alive(2, kNow);
  EXPECT_EQ(likelier(), 9U);
}

TEST_F(DoubtsTest, ElseWhoHasLostLinksToMoreOthers) {
  broke(2, 9);
  broke(3, 9);
  EXPECT_EQ(likelier(), 9U);
  broke(9, 3);
  broke(2, 3);
  broke(9, 1);
  broke(9, 4);
  EXPECT_EQ(likelier(), 9U) << "whoever says so";
}

TEST_F(DoubtsTest, ElseWhoCameLaterWhoeverReports) {
  broke(2, 9);
  EXPECT_EQ(likelier(), 9U);
  broke(9, 2);
  EXPECT_EQ(likelier(), 9U);
}

}  // namespace
}  // namespace stretto
