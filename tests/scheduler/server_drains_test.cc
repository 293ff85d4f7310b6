// SPDX-License-Identifier: Apache-2.0
// Draining servers in a job whose servers have standbys all the time.
#include "scheduler/migration/server_drains.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/view_machine.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ServerDrainsTest : public testing::Test {
 protected:
  ServerDrainsTest() {
    config_.servers = 2;
    config_.job.replicas = 2;
    machine_.emplace(config_, now_);
    for (const Rank number : {0U, 1U, 2U, 3U}) nodes_.push_back(come(number));
    for (const Rank rank : {0U, 1U}) {
      machine_->on(Join{.rank = rank, .workers = 2, .servers = 2, .host = "w"}, now_);
    }
  }
  NodeId come(Rank number) {
    const auto orders = machine_->on(Join{.role = Role::kServer,
                                          .rank = number,
                                          .shards = 1,
                                          .servers = 2,
                                          .host = fmt::format("s{}", number),
                                          .address = fmt::format("s:{}", 7000 + number)},
                                     now_);
    return std::get<Admit>(orders.at(0)).member.node;
  }
  void lose(NodeId node) {
    machine_->on(Disconnected{.node = node, .cause = "reset"}, now_);
    machine_->on(EndOfTurn{}, now_);
  }
  void catch_up(NodeId from, NodeId to) {
    machine_->on(StandbyCaughtUp{.server = from, .standby = to}, now_);
  }
  void ask(NodeId node, std::uint32_t asker) { farewells_.ask(*view().find(node), asker); }
  std::vector<MigrationResult> follow() { return farewells_.follow(view()); }
  const View& view() const { return machine_->view(); }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<NodeId> nodes_;  // Servers 0 and 2 are each other's standbys, and so are 1 and 3.
  ServerDrains farewells_{config_};
};

TEST_F(ServerDrainsTest, OneGoesOnceTheOtherOfItsPlaceHasAll) {
  ask(nodes_[0], 9);
  EXPECT_THAT(follow(), IsEmpty());
  catch_up(nodes_[1], nodes_[3]);
  EXPECT_THAT(follow(), IsEmpty()) << "of another place";
  catch_up(nodes_[0], nodes_[2]);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].asker, 9U);
  EXPECT_TRUE(answers[0].why.ok());
  EXPECT_THAT(follow(), IsEmpty()) << "once";
}

TEST_F(ServerDrainsTest, OfTwoOneStaysUntilAnotherHasCome) {
  catch_up(nodes_[0], nodes_[2]);
  catch_up(nodes_[1], nodes_[3]);
  ask(nodes_[0], 9);
  EXPECT_THAT(follow(), SizeIs(1));
  ask(nodes_[2], 11);
  EXPECT_THAT(follow(), IsEmpty()) << "it is to have the place";
  lose(nodes_[0]);
  EXPECT_THAT(follow(), IsEmpty()) << "nobody stands by for it";
  catch_up(nodes_[2], come(0));
  EXPECT_THAT(follow(), SizeIs(1));
  ask(nodes_[3], 10);
  ask(nodes_[1], 12);
  const auto other = follow();
  ASSERT_THAT(other, SizeIs(1)) << "who stands by may at once, and not both";
  EXPECT_EQ(other[0].asker, 10U);
}

// The previous scheduler may have let the other server go.
TEST_F(ServerDrainsTest, OneWaitsForTheOtherOfItsPlaceToComeAgain) {
  catch_up(nodes_[0], nodes_[2]);
  catch_up(nodes_[1], nodes_[3]);
  ask(nodes_[2], 9);
  ask(nodes_[1], 10);
  std::set<NodeId> awaited{nodes_[0], nodes_[3]};
  const auto is_awaited = [&awaited](NodeId node) { return awaited.contains(node); };
  EXPECT_THAT(farewells_.follow(view(), is_awaited), IsEmpty());
  awaited.clear();
  EXPECT_THAT(farewells_.follow(view(), is_awaited), SizeIs(2));
}

}  // namespace
}  // namespace stretto
