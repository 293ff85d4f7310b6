// SPDX-License-Identifier: Apache-2.0
// A worker's node in a job without servers, against a scheduler played by hand: there is nobody
// else to wait for.
#include <gtest/gtest.h>

#include "tests/worker/played_node.h"

namespace stretto {
namespace {

class NodeWithoutServers : public fake::PlayedNode {
 protected:
  /// What is told once.
  static WorkerNode::Done into(std::optional<Status>& told) {
    return [&told](const Status& status) {
      EXPECT_FALSE(told) << "called twice";
      told = status;
    };
  }
  static Roster roster() {
    Roster roster = fake::roster(2, 0);
    roster.servers = 0;
    roster.slots = 0;
    return roster;
  }
};

TEST_F(NodeWithoutServers, JoinsWithTheRosterAndLeavesAtTheSchedulersWord) {
  std::optional<Status> joined;
  node_.join(into(joined));
  say(scheduler_, fake::welcome(10, 0));
  EXPECT_FALSE(joined) << "the others have yet to come";
  EXPECT_FALSE(node_.joined());
  say(scheduler_, roster());
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->ok()) << joined->text();
  EXPECT_TRUE(node_.joined());
  EXPECT_EQ(wire_.connected.size(), 1U) << "it calls the scheduler alone";

  std::optional<Status> left;
  node_.leave(into(left));
  step();
  say(scheduler_, control::Leave{});
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->ok()) << left->text();
}

TEST_F(NodeWithoutServers, ARosterThatLacksItsServersEndsTheJoin) {
  std::optional<Status> joined;
  node_.join(into(joined));
  say(scheduler_, fake::welcome(10, 0));
  say(scheduler_, fake::roster(2, 0));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->code(), Code::kMalformed);
}

}  // namespace
}  // namespace stretto
