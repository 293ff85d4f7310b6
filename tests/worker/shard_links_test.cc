// SPDX-License-Identifier: Apache-2.0
// Calling every shard, and hearing from all of them or not.
#include "worker/server_path/shard_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class ShardLinksTest : public testing::Test {
 protected:
  Status connect(const Roster& roster) {
    return links_.connect(roster, fake::hello(Role::kWorker, 0), clock_.now());
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  ShardLinks links_{van_};
};

TEST_F(ShardLinksTest, CallsEveryShardAndFindsByLinkOrNode) {
  EXPECT_FALSE(links_.called());
  EXPECT_EQ(links_.next_due(), Time::max());
  EXPECT_TRUE(connect(fake::roster(2, 2)).ok());
  EXPECT_THAT(wire_.connected, ElementsAre("shard0:1", "shard1:1"));
  EXPECT_TRUE(links_.called());
  EXPECT_EQ(links_.link_to(51), 2U);
  EXPECT_EQ(links_.link_to(10), 0U) << "a worker";
  ASSERT_NE(links_.find(2), nullptr);
  EXPECT_EQ(links_.find(2)->node, 51U);
  EXPECT_EQ(links_.find(3), nullptr);
}

TEST_F(ShardLinksTest, AreCompleteWhenAllHaveAnswered) {
  ASSERT_TRUE(connect(fake::roster(2, 2)).ok());
  links_.welcome(1);
  links_.welcome(1);
  links_.welcome(7);
  EXPECT_FALSE(links_.complete()) << "one has answered twice, and one is a stranger";
  links_.welcome(2);
  EXPECT_TRUE(links_.complete());
  EXPECT_EQ(links_.next_due(), Time::max());
  EXPECT_TRUE(links_.silence(clock_.now() + 1h).ok());
}

TEST_F(ShardLinksTest, SilentShardIsNamed) {
  ASSERT_TRUE(connect(fake::roster(2, 2)).ok());
  links_.welcome(1);
  const Time due = links_.next_due();
  EXPECT_TRUE(links_.silence(due - 1ns).ok());
  const Status silence = links_.silence(due);
  EXPECT_EQ(silence.code(), Code::kServerLost);
  EXPECT_THAT(silence.cause(), HasSubstr("shard1:1 did not answer within 10 s: "));
}

TEST_F(ShardLinksTest, SchedulerAbsenceRestartsTimeout) {
  ASSERT_TRUE(connect(fake::roster(2, 2)).ok());
  links_.welcome(1);
  const Time due = links_.next_due();
  EXPECT_TRUE(links_.silence(due + 20s, true).ok());
  EXPECT_TRUE(links_.silence(due + 29s).ok());
  EXPECT_FALSE(links_.silence(due + 31s).ok());
}

TEST_F(ShardLinksTest, ARosterWithoutItsServersIsMalformed) {
  EXPECT_EQ(connect(fake::roster(2, 0)).code(), Code::kMalformed);
  EXPECT_FALSE(links_.complete());
}

TEST_F(ShardLinksTest, AwaitsNothingWithoutServers) {
  Roster roster = fake::roster(2, 0);
  roster.servers = 0;
  EXPECT_FALSE(links_.complete());
  EXPECT_TRUE(connect(roster).ok());
  EXPECT_TRUE(links_.called());
  EXPECT_TRUE(links_.complete());
  EXPECT_EQ(links_.count(), 0U);
  EXPECT_EQ(links_.next_due(), Time::max());
  EXPECT_TRUE(links_.silence(clock_.now() + 1h).ok());
}

TEST_F(ShardLinksTest, UnreachableShardIsNamed) {
  wire_.refusal = {Code::kServerLost, "no such host"};
  const Status refused = connect(fake::roster(2, 1));
  EXPECT_EQ(refused.code(), Code::kServerLost);
  EXPECT_THAT(refused.peer(), HasSubstr("server 0"));
}

TEST_F(ShardLinksTest, ASuccessorHasThePlaceOnceItHasAnswered) {
  Roster roster = fake::roster(2, 2);
  ASSERT_TRUE(connect(roster).ok());
  links_.welcome(1);
  links_.welcome(2);
  Member& lost = *std::ranges::find(roster.members, NodeId{51}, &Member::node);
  lost.left = lost.lost = true;
  const auto follow = [&] {
    return links_.follow(roster, fake::hello(Role::kWorker, 0), clock_.now()).ok();
  };
  EXPECT_TRUE(follow());
  EXPECT_TRUE(links_.complete()) << "another is awaited, and nobody need wait to be in";
  EXPECT_EQ(links_.next_due(), Time::max());
  EXPECT_EQ(links_.link_to(51), 2U);
  Member next = lost;
  next.node = 60;
  next.address = "shard1:2";
  next.left = next.lost = false;
  roster.members.push_back(next);
  EXPECT_TRUE(follow());
  EXPECT_TRUE(follow()) << "it is called once";
  EXPECT_THAT(wire_.connected, ElementsAre("shard0:1", "shard1:1", "shard1:2"));
  EXPECT_EQ(links_.link_to(60), 2U) << "as long as it has not answered";
  ASSERT_NE(links_.find(3), nullptr);
  EXPECT_EQ(links_.find(3)->node, 60U);
  EXPECT_FALSE(links_.silence(links_.next_due()).ok());
  const auto moved = links_.welcome(3);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->from, 2U);
  EXPECT_EQ(moved->to, 3U);
  EXPECT_EQ(links_.link_to(60), 3U);
  EXPECT_EQ(links_.link_to(51), 3U) << "who still means the one before means this one";
  EXPECT_EQ(links_.next_due(), Time::max());
}

TEST_F(ShardLinksTest, PromotedStandbyKeepsExistingLink) {
  Roster roster = fake::roster(2, 1);
  const Member serving = roster.members.back();
  ASSERT_EQ(serving.role, Role::kServer);
  Member standby = serving;
  standby.node = 60;
  standby.address = "shard0:2";
  standby.standby = true;
  roster.members.push_back(standby);
  ASSERT_TRUE(connect(roster).ok());
  EXPECT_THAT(wire_.connected, ElementsAre("shard0:1", "shard0:2"));
  links_.welcome(1);
  EXPECT_TRUE(links_.complete());
  EXPECT_EQ(links_.find(2), nullptr) << "it has no place";
  Member& lost = *std::ranges::find(roster.members, serving.node, &Member::node);
  lost.left = lost.lost = true;
  roster.members.back().standby = false;
  ASSERT_TRUE(links_.follow(roster, fake::hello(Role::kWorker, 0), clock_.now()).ok());
  EXPECT_EQ(wire_.connected.size(), 2U);
  EXPECT_FALSE(links_.silence(links_.next_due()).ok()) << "it has to answer now";
  const auto moved = links_.welcome(2);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->to, 2U);
}

TEST_F(ShardLinksTest, ASuccessorMayBeLostBeforeItHasAnswered) {
  Roster roster = fake::roster(2, 1);
  ASSERT_TRUE(connect(roster).ok());
  links_.welcome(1);
  const auto replace = [&](NodeId node) {
    Member& lost = roster.members.back();
    lost.left = lost.lost = true;
    Member next = lost;
    next.node = node;
    next.left = next.lost = false;
    roster.members.push_back(next);
    return links_.follow(roster, fake::hello(Role::kWorker, 0), clock_.now()).ok();
  };
  ASSERT_EQ(roster.members.back().role, Role::kServer);
  EXPECT_TRUE(replace(60));
  EXPECT_TRUE(replace(61));
  EXPECT_FALSE(links_.welcome(2).has_value()) << "it is lost";
  const auto moved = links_.welcome(3);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->from, 1U);
}

}  // namespace
}  // namespace stretto
