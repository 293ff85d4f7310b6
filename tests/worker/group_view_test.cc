// SPDX-License-Identifier: Apache-2.0
// The members of rounds, as rosters and messages of other members arrive.
#include "worker/peers/group_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using control::Regroup;
using testing::ElementsAre;

class GroupViewTest : public testing::Test {
 protected:
  explicit GroupViewTest(NodeId self = 1) : self_(self) {
    roster_.settings.min_workers = 1;
    add(1);
    add(2);
    view_.begin();
  }
  void add(NodeId node, std::uint64_t from_step = 0) {
    ++roster_.epoch;
    roster_.members.push_back({.node = node,
                               .role = Role::kWorker,
                               .rank = static_cast<Rank>(roster_.members.size()),
                               .address = "other:1",
                               .from_step = from_step});
  }
  void lose(NodeId node) {
    ++roster_.epoch;
    for (Member& member : roster_.members) {
      if (member.node == node) member.left = member.lost = true;
    }
  }
  void follow(std::uint64_t step = 0) {
    const Status status = view_.follow(roster_, self_, step);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  void says(NodeId from, std::vector<NodeId> members, std::uint64_t generation) {
    view_.on_said(from, {.generation = generation, .members = std::move(members)});
  }

  const NodeId self_;
  Roster roster_;
  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  PeerLinks peers_{van_, ""};
  std::vector<bool> stops_;             // For each stop: whether open rounds stop too.
  std::vector<std::uint64_t> went_on_;  // Generations that have begun.
  GroupView view_{van_,
                  peers_,
                  {.stop =
                       [this](bool open_ones) {
                         stops_.push_back(open_ones);
                         return std::vector<Regroup::Finished>();
                       },
                   .go_on = [this](const Regroup& said) { went_on_.push_back(said.generation); }}};
};

TEST_F(GroupViewTest, TheFirstDecidesWhenAllHaveSaidTheSame) {
  follow();
  EXPECT_FALSE(view_.goes());
  says(2, {1, 2}, 0);
  EXPECT_TRUE(view_.goes());
  EXPECT_THAT(view_.members(), ElementsAre(1, 2));
  EXPECT_THAT(went_on_, ElementsAre(1));
  lose(2);
  follow();
  EXPECT_THAT(view_.members(), ElementsAre(1)) << "nobody else is to be asked";
  EXPECT_THAT(stops_, ElementsAre(true, true));
}

/// Other members may lack the values of rounds that are open here.
TEST_F(GroupViewTest, OpenRoundsGoOnUntilNewcomersAreIn) {
  follow();
  says(2, {1, 2}, 0);
  add(5, 3);
  follow(2);
  EXPECT_FALSE(view_.holds()) << "they come in before a later step";
  follow(3);
  EXPECT_THAT(stops_, ElementsAre(true, false));
  EXPECT_TRUE(view_.holds());
  EXPECT_TRUE(view_.goes());
  says(5, {1, 2, 5}, 0);
  says(2, {1, 2, 5}, 1);
  EXPECT_THAT(view_.members(), ElementsAre(1, 2, 5));
  EXPECT_FALSE(view_.holds());
}

/// A joining worker that has not reached that step knows nothing of it, and is asked.
TEST_F(GroupViewTest, ANewcomerThatDoesNotComeIsDecidedAbout) {
  follow();
  says(2, {1, 2}, 0);
  add(5, 3);
  follow(3);
  lose(5);
  follow(3);
  EXPECT_TRUE(view_.waits());
  EXPECT_THAT(stops_, ElementsAre(true, false, true));
  says(2, {1, 2}, 1);
  EXPECT_FALSE(view_.waits());
  EXPECT_THAT(went_on_, ElementsAre(1, 2));
}

TEST_F(GroupViewTest, DeciderJoinsMemberRequest) {
  follow();
  says(2, {1, 2}, 0);
  says(2, {1, 2}, 1);
  EXPECT_THAT(went_on_, ElementsAre(1, 2)) << "it says so too, and both agree";
}

class SecondMember : public GroupViewTest {
 protected:
  SecondMember() : GroupViewTest(2) {
    follow();
    view_.on_said(1, {.decided = true, .generation = 1, .members = {1, 2}});
  }
};

TEST_F(SecondMember, MemberStopsWhenDeciderAsks) {
  EXPECT_THAT(went_on_, ElementsAre(1));
  says(1, {1, 2}, 1);
  EXPECT_TRUE(view_.waits());
  EXPECT_FALSE(view_.goes());
}

TEST_F(SecondMember, DecisionsThatAreNoneAreNotTaken) {
  says(1, {1, 2}, 1);
  const auto decided = [this](NodeId from, std::uint64_t generation, std::vector<NodeId> members) {
    view_.on_said(from, {.decided = true, .generation = generation, .members = std::move(members)});
  };
  decided(3, 2, {1, 2});
  decided(1, 1, {1, 2});
  decided(1, 2, {1});
  decided(1, 2, {2, 1});
  decided(1, 2, {1, 2, 2});
  decided(1, 2, {1, 2, 9});
  decided(1, 2, {});
  EXPECT_THAT(went_on_, ElementsAre(1));
  decided(1, 2, {1, 2});
  EXPECT_THAT(went_on_, ElementsAre(1, 2));
}

}  // namespace
}  // namespace stretto
