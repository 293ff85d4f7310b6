// SPDX-License-Identifier: Apache-2.0
// Lost servers and their replacements, by the view machine that requests them.
#include "scheduler/membership/server_restarts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/view_machine.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class ServerRestartsTest : public testing::Test {
 protected:
  static Join server(std::int64_t rank, std::uint32_t port = 7000) {
    return {.role = Role::kServer,
            .rank = rank,
            .shards = 1,
            .servers = 2,
            .host = "s",
            .address = fmt::format("s:{}", port)};
  }

  void gather(std::uint32_t restarts = 2) {
    config_.servers = 2;
    config_.job.server_restarts = restarts;
    machine_.emplace(config_, now_);
    servers_ = {come(server(0)), come(server(1))};
    for (const Rank rank : {0U, 1U}) {
      workers_.push_back(come({.rank = rank, .workers = 2, .servers = 2, .host = "w"}));
    }
    ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
    for (int i = 0; i < 3; ++i) machine_->on(tensor(), now_);
  }
  static NewTensor tensor(const std::string& kept = "") {
    return {.cut = Cut(fake::spec("x", Dtype::kU8, 1024), 64), .kept = kept};
  }
  NodeId come(const Join& join) {
    const std::vector<ViewOrder> orders = machine_->on(join, now_);
    const auto* admit = orders.empty() ? nullptr : std::get_if<Admit>(&orders.front());
    return admit == nullptr ? 0 : admit->member.node;
  }
  static Lost replacement_of(NodeId node) {
    return {.node = node, .cause = "killed", .replacement = true};
  }
  std::vector<ViewOrder> lose(NodeId node) {
    machine_->on(Disconnected{.node = node, .cause = "reset"}, now_);
    return machine_->on(EndOfTurn{}, now_);
  }
  /// From worker 1 to server 0; one of the two shows a sign of life.
  void break_link(NodeId alive) {
    machine_->on(Suspicion{.reporter = workers_[1], .subject = servers_[0], .cause = "gone"}, now_);
    now_ += 1s;
    machine_->on(Alive{alive}, now_);
    now_ += 1s;
    machine_->on(Tick{}, now_);
  }
  std::uint32_t slots_of(NodeId node) const {
    const auto& owners = machine_->view().slots.owners();
    return static_cast<std::uint32_t>(std::ranges::count(owners, node));
  }
  std::string end() const { return machine_->status().text(); }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<NodeId> servers_;
  std::vector<NodeId> workers_;
};

TEST_F(ServerRestartsTest, ReplacementTakesRankAndSlotsWithNewId) {
  gather();
  const std::uint32_t slots = slots_of(servers_[1]);
  const auto orders = lose(servers_[1]);
  ASSERT_EQ(orders.size(), 1U);
  const auto& lost = std::get<Publish>(orders[0]);
  ASSERT_EQ(lost.lost.size(), 1U);
  EXPECT_EQ(lost.lost[0].cause, "reset");
  EXPECT_TRUE(machine_->view().find(servers_[1])->lost);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  const NodeId back = come(server(1, 7001));
  ASSERT_NE(back, 0U);
  EXPECT_EQ(machine_->view().find(back)->rank, 1U) << "and that is published at once";
  EXPECT_EQ(machine_->view().find(servers_[1]), nullptr);
  EXPECT_EQ(slots_of(back), slots);
  EXPECT_EQ(slots_of(servers_[1]), 0U);
  now_ += 1h;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
}

TEST_F(ServerRestartsTest, TheNewOneMayBeLostTooButOnlySoOften) {
  gather(2);
  lose(servers_[0]);
  const NodeId back = come(server(-1));
  EXPECT_EQ(machine_->view().find(back)->rank, 0U) << "by its place, where it asks for none";
  lose(back);
  const NodeId again = come(server(0));
  ASSERT_NE(again, 0U);
  lose(again);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  EXPECT_THAT(end(), HasSubstr("server 0 is lost: reset; no more servers may be replaced"));
}

TEST_F(ServerRestartsTest, BothMayBeAwayAtOnce) {
  gather();
  lose(servers_[0]);
  lose(servers_[1]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_NE(come(server(1)), 0U);
  EXPECT_EQ(come(server(1)), 0U) << "that place is taken";
  EXPECT_NE(come(server(0)), 0U);
}

TEST_F(ServerRestartsTest, JobEndsWithoutReplacementInTime) {
  gather();
  lose(servers_[0]);
  EXPECT_LE(machine_->next_due(), now_ + 10s);
  now_ += 10s - 1ns;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  now_ += 1ns;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  EXPECT_THAT(end(), HasSubstr("server 0 is lost: reset; and none came in its place within 10 s"));
}

TEST_F(ServerRestartsTest, EndedReplacementIsReplaced) {
  gather(3);
  lose(servers_[0]);
  now_ += 9s;
  machine_->on(replacement_of(servers_[0]), now_);
  machine_->on(Lost{.node = servers_[0], .cause = "silence"}, now_);  // No effect.
  now_ += 9s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << "the next has its own time";
  const NodeId back = come(server(0));
  ASSERT_NE(back, 0U);
  EXPECT_EQ(machine_->view().find(servers_[0]), nullptr);
  lose(back);
  machine_->on(replacement_of(servers_[0]), now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << "no member any more";
  machine_->on(replacement_of(back), now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  EXPECT_THAT(end(), HasSubstr("server 0 is lost: killed; no more servers may be replaced"));
}

TEST_F(ServerRestartsTest, StatefulTensorMakesServerLossFatal) {
  gather();
  machine_->on(tensor("w"), now_);
  lose(servers_[0]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  EXPECT_THAT(end(), HasSubstr("of tensor 'w' servers keep more than the sum"));
}

TEST_F(ServerRestartsTest, OneThatDoesNotFitLeavesThePlaceFree) {
  gather();
  lose(servers_[0]);
  Join wrong = server(0);
  wrong.address = "nowhere";
  EXPECT_EQ(come(wrong), 0U);
  EXPECT_NE(come(server(0)), 0U);
}

TEST_F(ServerRestartsTest, ANewTensorLiesWhereTheLostOneWas) {
  gather();
  lose(servers_[0]);
  machine_->on(tensor(), now_);
  const NodeId back = come(server(0));
  EXPECT_EQ(slots_of(servers_[0]), 0U);
  EXPECT_GT(slots_of(back), 0U);
}

TEST_F(ServerRestartsTest, JobEndsWithoutLinkOfReplacedServer) {
  gather();
  machine_->on(Lost{.node = servers_[0], .cause = "silence"}, now_);  // Its link is up.
  machine_->on(EndOfTurn{}, now_);
  const NodeId back = come(server(0));
  for (const NodeId worker : workers_) machine_->on(Left{.node = worker}, now_);
  for (const NodeId node : {back, servers_[1], workers_[0], workers_[1]}) {
    machine_->on(Left{.node = node}, now_);
    machine_->on(Disconnected{.node = node}, now_);
  }
  machine_->on(EndOfTurn{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kOver);
}

TEST_F(ServerRestartsTest, AJobThatIsDoneNeedsNone) {
  gather();
  lose(servers_[0]);
  for (const NodeId worker : workers_) machine_->on(Left{.node = worker}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kDispersing);
  EXPECT_EQ(come(server(0)), 0U);
}

// ---- a silent server that no member reports

TEST_F(ServerRestartsTest, ASilentServerReturns) {
  gather();
  break_link(workers_[1]);
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
  EXPECT_TRUE(machine_->view().find(servers_[0])->lost);
  EXPECT_NE(come(server(0, 7001)), 0U);
}

TEST_F(ServerRestartsTest, ASilentWorkerOfAFixedJobEndsIt) {
  gather();
  break_link(servers_[0]);
  EXPECT_THAT(end(), HasSubstr("LinkBroken: worker 1 lost its link to server 0"));
}

TEST_F(ServerRestartsTest, ASilentServerThatCannotReturnEndsTheJob) {
  gather(0);
  break_link(workers_[1]);
  EXPECT_THAT(end(), HasSubstr("LinkBroken: worker 1 lost its link to server 0"));
}

}  // namespace
}  // namespace stretto
