// SPDX-License-Identifier: Apache-2.0
// Standby servers, by the view machine that assigns the ranks.
#include "scheduler/membership/standbys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/view_machine.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StandbysTest : public testing::Test {
 protected:
  StandbysTest() {
    config_.servers = 2;
    config_.job.replicas = 2;
  }

  static Join server(std::int64_t number) {
    return {.role = Role::kServer,
            .rank = number,
            .shards = 1,
            .servers = 2,
            .host = fmt::format("s{}", number),
            .address = fmt::format("s:{}", 7000 + number)};
  }
  void gather(Sizing sizing = Sizing::kFixed) {
    machine_.emplace(config_, now_, sizing);
    for (const Rank number : {0U, 1U, 2U, 3U}) servers_.push_back(come(server(number)));
    for (const Rank rank : {0U, 1U}) {
      workers_.push_back(come({.rank = rank, .workers = 2, .servers = 2, .host = "w"}));
    }
    ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
    machine_->on(NewTensor{.cut = Cut(fake::spec("x", Dtype::kU8, 1024), 64), .kept = "x"}, now_);
  }
  NodeId come(const Join& join) {
    const std::vector<ViewOrder> orders = machine_->on(join, now_);
    const auto* admit = orders.empty() ? nullptr : std::get_if<Admit>(&orders.front());
    return admit == nullptr ? 0 : admit->member.node;
  }
  void catch_up(NodeId server, NodeId standby) {
    machine_->on(StandbyCaughtUp{.server = server, .standby = standby}, now_);
  }
  std::vector<ViewOrder> lose(NodeId node) {
    auto orders = machine_->on(Disconnected{.node = node, .cause = "reset"}, now_);
    const auto more = machine_->on(EndOfTurn{}, now_);
    orders.insert(orders.end(), more.begin(), more.end());
    return orders;
  }
  std::uint32_t slots_of(NodeId node) const {
    const auto& owners = machine_->view().slots.owners();
    return static_cast<std::uint32_t>(std::ranges::count(owners, node));
  }
  /// Links break in succession, some time after the first, while all members live.
  void break_links(const std::vector<std::tuple<Duration, NodeId, NodeId>>& reports) {
    const Time begin = now_;
    for (; now_ < begin + 8s; now_ += 100ms) {
      for (const auto& [after, reporter, subject] : reports) {
        const bool is_now = now_ >= begin + after && now_ < begin + after + 100ms;
        if (!is_now) continue;
        machine_->on(Suspicion{.reporter = reporter, .subject = subject, .cause = "silence"}, now_);
      }
      for (const auto& [node, member] : std::map(machine_->view().members)) {
        machine_->on(Alive{node}, now_);
      }
      for (const ViewOrder& order : machine_->on(Tick{}, now_)) {
        const auto* news = std::get_if<Publish>(&order);
        if (news == nullptr) continue;
        for (const Publish::Loss& loss : news->lost) lost_[loss.node] = loss.cause;
      }
    }
  }
  const Member* member(NodeId node) const { return machine_->view().find(node); }
  std::string end() const { return machine_->status().text(); }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<NodeId> servers_;
  std::vector<NodeId> workers_;
  std::map<NodeId, std::string> lost_;  // In break_links, and why.
};

TEST_F(StandbysTest, TheSecondHalfStandsByForTheFirst) {
  gather();
  EXPECT_FALSE(member(servers_[1])->standby);
  EXPECT_TRUE(member(servers_[3])->standby);
  EXPECT_EQ(member(servers_[3])->rank, 1U);
  EXPECT_EQ(member(servers_[3])->describe(), "server 3");
  EXPECT_EQ(slots_of(servers_[0]), kSlots / 2);
  EXPECT_EQ(slots_of(servers_[2]), 0U);
  EXPECT_EQ(machine_->view().ranks(Role::kServer), 2U);
}

TEST_F(StandbysTest, OneThatHasAllHasThePlaceAtOnce) {
  gather();
  catch_up(servers_[0], servers_[2]);
  const auto orders = lose(servers_[0]);
  ASSERT_EQ(orders.size(), 1U);
  const auto& news = std::get<Publish>(orders[0]);
  ASSERT_EQ(news.lost.size(), 1U);
  EXPECT_EQ(news.lost[0].node, servers_[0]);
  EXPECT_EQ(news.changed.size(), 2U);
  EXPECT_FALSE(member(servers_[2])->standby);
  EXPECT_EQ(member(servers_[0]), nullptr);
  EXPECT_EQ(slots_of(servers_[2]), kSlots / 2);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
}

TEST_F(StandbysTest, OneThatLacksSomethingDoesNot) {
  gather();
  lose(servers_[0]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  EXPECT_THAT(end(), HasSubstr("ServerLost: server 0 is lost: reset; server 2, which stands by for "
                               "it, does not have all of it yet"));
}

TEST_F(StandbysTest, OnlyPrimaryReportsCaughtUpStandby) {
  gather();
  catch_up(servers_[1], servers_[2]);
  catch_up(servers_[2], servers_[2]);
  catch_up(servers_[0], servers_[1]);
  catch_up(workers_[0], servers_[2]);
  lose(servers_[0]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
}

TEST_F(StandbysTest, JobSurvivesStandbyLossUntilNextLoss) {
  gather();
  catch_up(servers_[0], servers_[2]);
  lose(servers_[2]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(member(servers_[2]), nullptr);
  lose(servers_[0]);
  EXPECT_THAT(end(), HasSubstr("server 0 is lost: reset; nobody stands by for it"));
}

TEST_F(StandbysTest, NewServerStandsByForLoneServer) {
  gather();
  catch_up(servers_[0], servers_[2]);
  lose(servers_[0]);
  const NodeId back = come(server(0));
  ASSERT_NE(back, 0U);
  EXPECT_TRUE(member(back)->standby);
  EXPECT_EQ(member(back)->rank, 0U);
  EXPECT_EQ(slots_of(back), 0U);
  catch_up(servers_[2], back);
  lose(servers_[2]);
  EXPECT_FALSE(member(back)->standby);
  EXPECT_EQ(slots_of(back), kSlots / 2);
  const NodeId any = come(server(-1));
  EXPECT_EQ(member(any)->number(), 2U);
}

TEST_F(StandbysTest, RefusesFurtherServersAndWorkers) {
  gather();
  EXPECT_EQ(come(server(1)), 0U);
  EXPECT_EQ(come(server(-1)), 0U);
  EXPECT_EQ(come(server(4)), 0U);
  EXPECT_EQ(come({.rank = 0, .workers = 2, .servers = 2, .host = "w"}), 0U);
}

TEST_F(StandbysTest, JobEndsWithoutLinkOfLostServer) {
  gather();
  catch_up(servers_[0], servers_[2]);
  machine_->on(Lost{.node = servers_[0], .cause = "nothing heard of it"}, now_);
  for (const NodeId node : workers_) machine_->on(Left{.node = node}, now_);
  for (const NodeId node : {workers_[0], workers_[1], servers_[1], servers_[2], servers_[3]}) {
    machine_->on(Disconnected{.node = node}, now_);
  }
  machine_->on(EndOfTurn{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kOver);
}

TEST_F(StandbysTest, BrokenReplicationLinkCostsStandby) {
  gather();
  catch_up(servers_[0], servers_[2]);
  machine_->on(Suspicion{.reporter = servers_[2], .subject = servers_[0], .cause = "cut"}, now_);
  now_ += 3s;
  for (const NodeId node : {servers_[0], servers_[2]}) machine_->on(Alive{.node = node}, now_);
  machine_->on(Tick{}, now_);
  now_ += 3s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(member(servers_[2]), nullptr);
  EXPECT_NE(member(servers_[0]), nullptr);
}

TEST_F(StandbysTest, BrokenWorkerLinkCostsReplicatedServer) {
  gather();
  catch_up(servers_[0], servers_[2]);
  machine_->on(Suspicion{.reporter = workers_[0], .subject = servers_[0], .cause = "cut"}, now_);
  now_ += 3s;
  for (const NodeId node : {servers_[0], workers_[0]}) machine_->on(Alive{.node = node}, now_);
  machine_->on(Tick{}, now_);
  now_ += 3s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(member(servers_[0]), nullptr);
  EXPECT_FALSE(member(servers_[2])->standby);
}

// ---- reports that a standby is in sync

TEST_F(StandbysTest, CaughtUpIsReportedByPrimaryOrStandby) {
  gather();
  const auto said = [this](NodeId teller, NodeId standby) {
    const auto caught = caught_by(*member(teller), standby, machine_->view());
    return caught ? std::pair(caught->server, caught->standby) : std::pair(NodeId{0}, NodeId{0});
  };
  const std::pair<NodeId, NodeId> nobody(0, 0);
  EXPECT_EQ(said(servers_[0], servers_[2]), std::pair(servers_[0], servers_[2]));
  EXPECT_EQ(said(servers_[2], servers_[2]), std::pair(servers_[0], servers_[2]));
  EXPECT_EQ(said(servers_[2], servers_[3]), nobody);
  EXPECT_EQ(said(workers_[0], servers_[2]), nobody);
}

TEST_F(StandbysTest, ElasticJobLosesSilentServer) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  machine_->on(Suspicion{.reporter = workers_[0], .subject = servers_[0], .cause = "silence"},
               now_);
  now_ = now_ + 3s;
  machine_->on(Alive{workers_[0]}, now_);
  machine_->on(Tick{}, now_);
  EXPECT_EQ(member(servers_[0]), nullptr);
  EXPECT_FALSE(member(servers_[2])->standby);
  EXPECT_NE(member(workers_[0]), nullptr);
}

TEST_F(StandbysTest, ElasticJobLosesUnreachableStandbys) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  for (const std::size_t standby : {2U, 3U}) {
    machine_->on(
        Suspicion{.reporter = workers_[1], .subject = servers_[standby], .cause = "refused"}, now_);
  }
  now_ = now_ + 6s;
  machine_->on(Tick{}, now_);
  EXPECT_NE(member(workers_[1]), nullptr);
  for (const std::size_t number : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(member(servers_[number]) != nullptr, number < 2);
  }
}

TEST_F(StandbysTest, ElasticJobLosesNewcomerNotStandbys) {
  config_.job.min_workers = 1;
  config_.workers = 2;
  gather(Sizing::kWorkers);
  lose(workers_[1]);
  const NodeId newcomer = come({.workers = 2, .servers = 2, .host = "n"});
  ASSERT_NE(newcomer, 0U);
  for (const std::size_t standby : {2U, 3U}) {
    machine_->on(Suspicion{.reporter = newcomer, .subject = servers_[standby], .cause = "refused"},
                 now_);
  }
  now_ = now_ + 6s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(member(newcomer), nullptr);
  EXPECT_NE(member(servers_[2]), nullptr);
  EXPECT_NE(member(servers_[3]), nullptr);
}

TEST_F(StandbysTest, ElasticJobLosesFaultyWorkerNotStandbys) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  for (const std::size_t server : {2U, 0U, 3U, 1U}) {
    machine_->on(Suspicion{.reporter = workers_[1], .subject = servers_[server], .cause = "reset"},
                 now_);
  }
  now_ = now_ + 3s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(member(workers_[1]), nullptr);
  for (const NodeId server : servers_) EXPECT_NE(member(server), nullptr);
}

// A worker that can reach neither for a moment later connects to the primary.
TEST_F(StandbysTest, StandbySuspectedWithServerIsPromoted) {
  gather();
  catch_up(servers_[0], servers_[2]);
  for (const std::size_t server : {2U, 0U}) {
    machine_->on(Suspicion{.reporter = workers_[0], .subject = servers_[server], .cause = "reset"},
                 now_);
  }
  now_ = now_ + 3s;
  machine_->on(Tick{}, now_);
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
  EXPECT_EQ(member(servers_[0]), nullptr);
  EXPECT_FALSE(member(servers_[2])->standby);
}

TEST_F(StandbysTest, PromotionClearsSuspicionOfStandby) {
  gather();
  catch_up(servers_[0], servers_[2]);
  machine_->on(Suspicion{.reporter = workers_[0], .subject = servers_[2], .cause = "reset"}, now_);
  lose(servers_[0]);
  EXPECT_FALSE(member(servers_[2])->standby);
  now_ = now_ + 3s;
  machine_->on(Tick{}, now_);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
}

// A follower applies the decided changes to the previous view.
TEST_F(StandbysTest, SimultaneousLossesMakeOneView) {
  gather();
  catch_up(servers_[0], servers_[2]);
  catch_up(servers_[1], servers_[3]);
  for (const std::size_t place : {0U, 1U}) {
    machine_->on(Suspicion{.reporter = workers_[0], .subject = servers_[place], .cause = "silence"},
                 now_);
  }
  now_ = now_ + 3s;
  machine_->on(Alive{workers_[0]}, now_);
  const auto orders = machine_->on(Tick{}, now_);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(std::get<Publish>(orders[0]).lost.size(), 2U);
}

TEST_F(StandbysTest, ElasticJobKeepsServerRanksOnWorkerLoss) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  lose(servers_[0]);
  lose(workers_[0]);
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(member(workers_[1])->rank, 0U);
  EXPECT_FALSE(member(servers_[2])->standby);
  for (const std::size_t number : {1U, 2U, 3U}) {
    EXPECT_EQ(member(servers_[number])->rank, number % 2);
    EXPECT_EQ(member(servers_[number])->number(), number);
  }
  const NodeId another = come(server(0));
  ASSERT_NE(another, 0U);
  EXPECT_TRUE(member(another)->standby);
  EXPECT_EQ(member(another)->rank, 0U);
}

// ---- several broken links with a common member

TEST_F(StandbysTest, AServerCommonToBrokenLinksIsLost) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  break_links({{0s, servers_[0], servers_[2]},
               {900ms, workers_[1], servers_[0]},
               {2600ms, servers_[0], workers_[0]}});
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
  EXPECT_THAT(lost_, ElementsAre(testing::Key(servers_[0])));
  EXPECT_FALSE(member(servers_[2])->standby);
}

TEST_F(StandbysTest, AFixedJobLosesTheCommonServer) {
  gather();
  catch_up(servers_[0], servers_[2]);
  break_links({{0s, servers_[0], servers_[2]}, {2600ms, servers_[0], workers_[0]}});
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
  EXPECT_THAT(lost_, ElementsAre(testing::Key(servers_[0])));
}

TEST_F(StandbysTest, TheCauseNamesHowManyLinksBroke) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  break_links({{0s, servers_[0], servers_[2]},
               {1s, workers_[1], servers_[0]},
               {2s, servers_[0], workers_[0]}});
  EXPECT_THAT(lost_[servers_[0]], HasSubstr("and 2 more broke, though all are alive: silence"));
}

TEST_F(StandbysTest, AStandbyCommonToBrokenLinksIsLost) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  break_links({{0s, servers_[0], servers_[2]},
               {1s, servers_[2], workers_[1]},
               {2s, workers_[0], servers_[2]}});
  EXPECT_THAT(lost_, ElementsAre(testing::Key(servers_[2])));
}

TEST_F(StandbysTest, AWorkerCommonToBrokenLinksIsLost) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  for (const std::size_t place : {0U, 1U}) catch_up(servers_[place], servers_[place + 2]);
  break_links({{0s, servers_[2], workers_[0]},
               {1s, workers_[0], servers_[0]},
               {2s, servers_[1], workers_[0]}});
  EXPECT_THAT(lost_, ElementsAre(testing::Key(workers_[0])));
}

TEST_F(StandbysTest, TheLastWorkerIsNotLostForAServer) {
  config_.job.min_workers = 2;
  gather(Sizing::kWorkers);
  catch_up(servers_[0], servers_[2]);
  break_links({{0s, servers_[0], workers_[1]}});
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << end();
  EXPECT_THAT(lost_, ElementsAre(testing::Key(servers_[0])));
}

}  // namespace
}  // namespace stretto
