// SPDX-License-Identifier: Apache-2.0
// Server migrations: the replacements that are started, and the answers to the requesters; with the
// view machine that assigns ranks.
#include "scheduler/migration/server_migrations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/view_machine.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ServerMigrationsTest : public testing::Test {
 protected:
  ServerMigrationsTest() {
    config_.servers = 2;
    config_.job.server_restarts = 3;
  }

  Join server(std::int64_t number, std::uint32_t shard = 0) const {
    return {.role = Role::kServer,
            .rank = number,
            .shard = shard,
            .shards = config_.shards,
            .servers = 2,
            .host = fmt::format("s{}", number),
            .address = fmt::format("s:{}", 7000 + 10 * shard + number)};
  }
  void gather(Sizing sizing = Sizing::kFixed) {
    machine_.emplace(config_, now_, sizing);
    for (const Rank number : {0U, 1U}) {
      for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
        servers_.push_back(come(server(number, shard)));
      }
    }
    for (const Rank rank : {0U, 1U}) {
      come({.rank = rank, .workers = 2, .servers = 2, .host = "w"});
    }
    ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  }
  NodeId come(const Join& join) {
    orders_ = machine_->on(join, now_);
    const auto* admit = orders_.empty() ? nullptr : std::get_if<Admit>(&orders_.front());
    return admit == nullptr ? 0 : admit->member.node;
  }
  void lose(NodeId node) {
    machine_->on(Disconnected{.node = node, .cause = "reset"}, now_);
    machine_->on(EndOfTurn{}, now_);
  }
  bool catch_up(NodeId from, NodeId to) {
    return !machine_->on(StandbyCaughtUp{.server = from, .standby = to}, now_).empty();
  }
  Status ask(Rank server, const std::string& host = {}, std::uint32_t asker = 9) {
    return moves_.begin(server, host, asker, view(), now_);
  }
  std::vector<MigrationResult> follow() { return moves_.follow(view(), now_); }
  const View& view() const { return machine_->view(); }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<ViewOrder> orders_;
  std::vector<NodeId> servers_;
  ServerMigrations moves_{config_, true};
};

TEST_F(ServerMigrationsTest, OneIsStartedAndHasThePlaceOnceItHasAll) {
  gather();
  ASSERT_TRUE(ask(0, "node1").ok());
  EXPECT_THAT(moves_.orders(),
              ElementsAre(MigrationOrder{.server = 2, .from = 0, .host = "node1"}));
  EXPECT_THAT(follow(), IsEmpty());
  const NodeId comes = come(server(2));
  ASSERT_NE(comes, 0U);
  EXPECT_TRUE(view().find(comes)->standby);
  EXPECT_THAT(follow(), IsEmpty());
  ASSERT_TRUE(catch_up(servers_[0], comes));
  EXPECT_FALSE(view().find(comes)->standby);
  EXPECT_EQ(view().find(servers_[0]), nullptr);
  EXPECT_EQ(view().find(comes)->describe(), "server 2");
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].asker, 9U);
  EXPECT_EQ(answers[0].server, 2U);
  EXPECT_TRUE(answers[0].why.ok());
  // And back.
  ASSERT_TRUE(ask(0).ok()) << "the place, by its number";
  EXPECT_EQ(moves_.orders().back(), (MigrationOrder{.server = 0, .from = 2}));
  const NodeId again = come(server(0));
  EXPECT_TRUE(view().find(again)->standby);
  EXPECT_TRUE(catch_up(comes, again));
}

TEST_F(ServerMigrationsTest, IgnoresCaughtUpReportOfUnrelatedServer) {
  gather();
  const NodeId comes = come(server(2));
  EXPECT_FALSE(catch_up(servers_[1], comes)) << "it serves another place";
  EXPECT_FALSE(catch_up(comes, servers_[0]));
  EXPECT_TRUE(view().find(comes)->standby);
}

TEST_F(ServerMigrationsTest, RefusesServerJoinWithoutId) {
  gather();
  EXPECT_EQ(come(server(-1)), 0U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(orders_.front()));
}

TEST_F(ServerMigrationsTest, StartsLostReplacementUpToThreeTimes) {
  gather();
  ASSERT_TRUE(ask(1).ok());
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_THAT(moves_.orders(), SizeIs(attempt));
    const NodeId comes = come(server(3));
    follow();
    lose(comes);
    EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
    EXPECT_NE(view().find(servers_[1]), nullptr) << "it serves on";
    EXPECT_THAT(follow(), IsEmpty());
    EXPECT_THAT(moves_.orders(), SizeIs(attempt)) << "its process has yet to end";
    moves_.note_end(3);
    const auto answers = follow();
    if (attempt < 3) continue;
    ASSERT_THAT(answers, SizeIs(1));
    EXPECT_THAT(answers[0].why.cause(), HasSubstr("was lost before it had all, 3 times"));
  }
  EXPECT_THAT(moves_.orders(), SizeIs(3));
}

TEST_F(ServerMigrationsTest, RestartsServerThatExitsBeforeJoining) {
  gather();
  ASSERT_TRUE(ask(0).ok());
  for (int attempt = 1; attempt < 3; ++attempt) {
    moves_.note_end(2);
    EXPECT_THAT(follow(), IsEmpty());
    EXPECT_THAT(moves_.orders(), SizeIs(attempt + 1));
  }
  moves_.note_end(2);
  EXPECT_THAT(follow(), SizeIs(1));
}

TEST_F(ServerMigrationsTest, FailsMoveIfServerNeverJoinsOrStarts) {
  gather();
  ASSERT_TRUE(ask(0).ok());
  EXPECT_EQ(moves_.next_due(), now_ + 10s);
  now_ += 10s;
  auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("server 2, which was to have its place, did not"));
  ASSERT_TRUE(ask(0, "x").ok());
  moves_.refuse({.server = 2, .why = "there is no host 'x'"});
  answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("could not be started: there is no host 'x'"));
}

TEST_F(ServerMigrationsTest, WhereAServerIsLostBeforeTheOtherHasAllBothAre) {
  gather();
  ASSERT_TRUE(ask(0).ok());
  const NodeId comes = come(server(2));
  follow();
  lose(servers_[0]);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning) << "another is awaited";
  EXPECT_EQ(view().find(comes), nullptr) << "what it has is of no use";
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("server 0 was lost before another had all of it"));
  const NodeId instead = come(server(0));
  EXPECT_FALSE(view().find(instead)->standby);
}

TEST_F(ServerMigrationsTest, AServerThatHasMovedComesBackByItsOwnNumber) {
  gather();
  const NodeId moved = come(server(2));
  ASSERT_TRUE(catch_up(servers_[0], moved));
  lose(moved);
  const NodeId again = come(server(2));
  ASSERT_NE(again, 0U);
  EXPECT_FALSE(view().find(again)->standby);
  EXPECT_EQ(view().find(again)->rank, 0U);
}

TEST_F(ServerMigrationsTest, SeveralMayAskAndAllAreAnswered) {
  gather();
  ASSERT_TRUE(ask(0, "", 9).ok());
  ASSERT_TRUE(ask(0, "", 10).ok());
  ASSERT_TRUE(ask(0, "", 10).ok());
  EXPECT_THAT(ask(0, "node7", 11).cause(), HasSubstr("is being handed over to server 2 already"));
  EXPECT_THAT(moves_.orders(), SizeIs(1));
  now_ += 10s;
  EXPECT_THAT(follow(), SizeIs(2));
}

TEST_F(ServerMigrationsTest, RefusesImpossibleMove) {
  gather();
  EXPECT_THAT(ask(4).cause(), HasSubstr("there is no server 4: the job has 2 places"));
  EXPECT_THAT(ask(3).cause(), HasSubstr("server 3 does not serve: server 1 has that place"));
  config_.job.server_restarts = 0;
  EXPECT_THAT(ask(0).cause(), HasSubstr("started with --restarts K"));
  config_.job.replicas = 2;
  EXPECT_THAT(ask(0).cause(), HasSubstr("end it with SIGTERM"));
  EXPECT_THAT(moves_.orders(), IsEmpty());
}

TEST_F(ServerMigrationsTest, ElasticServerMovesAllShardsTogether) {
  config_.shards = 2;
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  ASSERT_TRUE(ask(1).ok());
  const NodeId first = come(server(3));
  ASSERT_NE(first, 0U);
  EXPECT_FALSE(catch_up(servers_[2], first)) << "the other shard has not come";
  EXPECT_EQ(moves_.next_due(), now_ + 10s);
  EXPECT_THAT(follow(), IsEmpty());
  const NodeId second = come(server(3, 1));
  EXPECT_FALSE(catch_up(servers_[2], first)) << "said again";
  ASSERT_TRUE(catch_up(servers_[3], second));
  for (const NodeId node : {first, second}) EXPECT_FALSE(view().find(node)->standby);
  for (const NodeId node : {servers_[2], servers_[3]}) EXPECT_EQ(view().find(node), nullptr);
  EXPECT_TRUE(view().caught_up.empty());
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].why.ok());
}

TEST_F(ServerMigrationsTest, TimesOutServerMissingShards) {
  config_.shards = 2;
  gather();
  ASSERT_TRUE(ask(0).ok());
  come(server(2));
  EXPECT_THAT(follow(), IsEmpty());
  now_ += 10s;
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("of server 2, which was to have its place, some"));
}

TEST_F(ServerMigrationsTest, LosingOneShardLosesIncomingServer) {
  config_.shards = 2;
  gather();
  ASSERT_TRUE(ask(0).ok());
  const NodeId first = come(server(2));
  const NodeId second = come(server(2, 1));
  ASSERT_FALSE(catch_up(servers_[1], second));
  lose(second);
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(view().find(first), nullptr);
  EXPECT_TRUE(view().caught_up.empty());
}

}  // namespace
}  // namespace stretto
