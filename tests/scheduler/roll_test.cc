// SPDX-License-Identifier: Apache-2.0
// Who may come in: ranks asked for and ranks given, who is missing, and refusals that name what was
// wanted and what was found.
#include "scheduler/roll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RollTest : public testing::Test {
 protected:
  Result<Member> worker(std::int64_t rank, const std::string& host = "") {
    wire::Hello hello = fake::hello(Role::kWorker, rank).hello();
    if (!host.empty()) hello.set_host(host);
    return roll_.admit(hello);
  }
  Result<Member> server(std::int64_t rank, std::uint32_t shard, const std::string& host) {
    wire::Hello hello = fake::hello(Role::kServer, rank).hello();
    hello.set_shard(shard);
    hello.set_shards(config_.shards);
    hello.set_servers(config_.servers);
    hello.set_host(host);
    return roll_.admit(hello);
  }

  Config config_ = fake::config(Role::kScheduler, -1);
  Roll roll_{config_};
};

TEST_F(RollTest, GivesTheRanksThatAreAskedForAndNewIds) {
  const Result<Member> second = worker(1);
  const Result<Member> first = worker(0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->rank, 0U);
  EXPECT_EQ(second->rank, 1U);
  EXPECT_NE(first->node, second->node);
  EXPECT_GT(second->node, 1U) << "1 is the scheduler";
}

TEST_F(RollTest, GivesFreeRanksToThoseWhoDoNotAsk) {
  ASSERT_TRUE(worker(0).ok());
  EXPECT_EQ(worker(-1)->rank, 1U);
  const Status full = worker(-1, "late:7").status();
  EXPECT_EQ(full.cause(), "late:7 asks to be a worker, and all 2 have come");
}

TEST_F(RollTest, IdsAreNeverGivenTwice) {
  const NodeId first = worker(0)->node;
  roll_.remove(first);
  const Result<Member> again = worker(0);
  ASSERT_TRUE(again.ok()) << "its place is free";
  EXPECT_NE(again->node, first);
}

TEST_F(RollTest, ShardsOfOneProcessShareARank) {
  config_.servers = 2;
  config_.shards = 2;
  EXPECT_EQ(server(-1, 0, "a:1")->rank, 0U);
  EXPECT_EQ(server(-1, 0, "b:2")->rank, 1U);
  EXPECT_EQ(server(-1, 1, "b:2")->rank, 1U) << "beside its sibling";
  EXPECT_EQ(server(-1, 1, "a:1")->rank, 0U);
}

TEST_F(RollTest, IsCompleteWhenNobodyIsMissing) {
  config_.shards = 2;
  EXPECT_EQ(roll_.missing(), "server 0, server 0 shard 1, worker 0, worker 1");
  ASSERT_TRUE(worker(1).ok() && server(0, 1, "a:1").ok());
  EXPECT_EQ(roll_.missing(), "server 0, worker 0");
  EXPECT_FALSE(roll_.complete());
  ASSERT_TRUE(worker(0).ok() && server(0, 0, "a:1").ok());
  EXPECT_TRUE(roll_.complete());
  EXPECT_EQ(roll_.missing(), "");
  EXPECT_EQ(roll_.members().size(), 4U);
}

TEST_F(RollTest, KnowsWhetherAWorkerHasCome) {
  ASSERT_TRUE(server(0, 0, "a:1").ok());
  EXPECT_FALSE(roll_.has_worker());
  const Result<Member> came = worker(1);
  ASSERT_TRUE(came.ok());
  EXPECT_TRUE(roll_.has_worker());
  roll_.remove(came->node);
  EXPECT_FALSE(roll_.has_worker());
}

TEST_F(RollTest, NamesAFewOfManyMissing) {
  config_.workers = 20;
  EXPECT_EQ(roll_.missing(),
            "server 0, worker 0, worker 1, worker 2, worker 3, worker 4, worker 5, worker 6 "
            "and 13 more");
}

TEST_F(RollTest, TwoProcessesWithOneRankAreBothNamed) {
  ASSERT_TRUE(worker(1, "here:11").ok());
  const Status status = worker(1, "there:22").status();
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(),
              HasSubstr("there:22 asks to be worker 1, and here:11 is that already"));
}

struct Refusal {
  const char* name;
  Role role;
  std::function<void(wire::Hello&)> spoil;
  const char* wanted;
  const char* found;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class RollRefusal : public RollTest, public testing::WithParamInterface<Refusal> {};

TEST_P(RollRefusal, NamesWhatWasWantedAndWhatWasFound) {
  wire::Hello hello = fake::hello(GetParam().role, 0).hello();
  GetParam().spoil(hello);
  const Result<Member> member = roll_.admit(hello);
  ASSERT_FALSE(member.ok());
  EXPECT_EQ(member.status().code(), Code::kRefused);
  EXPECT_THAT(member.status().cause(),
              AllOf(HasSubstr(GetParam().wanted), HasSubstr(GetParam().found)));
  EXPECT_TRUE(roll_.members().empty());
  EXPECT_TRUE(roll_.admit(fake::hello(GetParam().role, 0).hello()).ok()) << "the place is free";
}

INSTANTIATE_TEST_SUITE_P(
    All, RollRefusal,
    testing::Values(
        Refusal{"Protocol", Role::kWorker, [](wire::Hello& h) { h.set_protocol(9); },
                "this side speaks 3", "protocol 9"},
        Refusal{"Token", Role::kWorker, [](wire::Hello& h) { h.set_token("x"); }, "a different one",
                "another job token"},
        Refusal{"SchedulerAsMember", Role::kWorker, [](wire::Hello& h) { h.set_role(1); },
                "wanted a worker or a server", "role 1"},
        Refusal{"RoleThatWraps", Role::kWorker, [](wire::Hello& h) { h.set_role(256 + 3); },
                "wanted a worker or a server", "role 259"},
        Refusal{"Workers", Role::kWorker, [](wire::Hello& h) { h.set_workers(3); },
                "the scheduler of 2 workers", "was told of 3 workers"},
        Refusal{"Servers", Role::kWorker, [](wire::Hello& h) { h.set_servers(4); },
                "2 workers and 1 servers", "and 4 servers"},
        Refusal{"RankTooHigh", Role::kWorker, [](wire::Hello& h) { h.set_rank(2); },
                "ranks are 0 to 1", "rank 2 of 2"},
        Refusal{"RankTooLow", Role::kWorker, [](wire::Hello& h) { h.set_rank(-2); },
                "ranks are 0 to 1", "rank -2 of 2"},
        Refusal{"RankThatWraps", Role::kWorker,
                [](wire::Hello& h) { h.set_rank(std::int64_t{1} << 32); }, "ranks are 0 to 1",
                "rank 4294967296"},
        Refusal{"ShardOfAWorker", Role::kWorker, [](wire::Hello& h) { h.set_shard(1); },
                "workers have none", "says it is shard 1"},
        Refusal{"Shards", Role::kServer, [](wire::Hello& h) { h.set_shards(2); },
                "told of 1 shards a server", "has 2 shards"},
        Refusal{"ShardTooHigh", Role::kServer, [](wire::Hello& h) { h.set_shard(1); },
                "told of 1 shards a server", "this is number 1"},
        Refusal{"Address", Role::kServer, [](wire::Hello& h) { h.set_address("nowhere"); },
                "wanted host:port", "'nowhere'"}),
    [](const auto& each) { return std::string(each.param.name); });

/// A scheduler that was told of two hosts, and not how many workers each has.
class RollOfHosts : public testing::Test {
 protected:
  static Config hosts() {
    Config config = fake::config(Role::kScheduler, -1);
    config.workers_are_hosts = true;
    return config;
  }
  Result<Member> worker(std::int64_t rank, std::uint32_t told) {
    wire::Hello hello = fake::hello(Role::kWorker, rank).hello();
    hello.set_workers(told);
    return roll_.admit(hello);
  }

  Config config_ = hosts();
  Roll roll_{config_};
};

TEST_F(RollOfHosts, TheFirstWorkerTellsHowManyThereAre) {
  EXPECT_EQ(roll_.workers(), 0U);
  EXPECT_FALSE(roll_.complete());
  EXPECT_THAT(roll_.missing(), HasSubstr("all workers of 2 hosts"));
  ASSERT_TRUE(worker(3, 6).ok());
  EXPECT_EQ(roll_.workers(), 6U);
  EXPECT_THAT(roll_.missing(), HasSubstr("worker 5"));
  EXPECT_THAT(worker(1, 4).status().cause(),
              AllOf(HasSubstr("worker 1 was told of 4 workers"), HasSubstr("of 6 workers")));
  for (std::int64_t rank : {0, 1, 2, 4, 5}) ASSERT_TRUE(worker(rank, 6).ok());
  wire::Hello server = fake::hello(Role::kServer, 0).hello();
  server.set_workers(0);
  for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
    EXPECT_FALSE(roll_.complete());
    server.set_shard(shard);
    server.set_shards(config_.shards);
    ASSERT_TRUE(roll_.admit(server).ok()) << "servers need not know";
  }
  EXPECT_TRUE(roll_.complete()) << roll_.missing();
}

TEST_F(RollOfHosts, WhatCannotBeIsRefused) {
  EXPECT_THAT(worker(0, 3).status().cause(),
              AllOf(HasSubstr("of 3 workers"), HasSubstr("2 hosts with as many workers each")));
  EXPECT_FALSE(worker(0, 0).ok());
  EXPECT_FALSE(worker(0, 2 * kMaxNodes).ok());
  EXPECT_FALSE(worker(4, 4).ok()) << "ranks are 0 to 3";
  EXPECT_EQ(roll_.workers(), 0U) << "nobody who was let in has said";
}

TEST_F(RollOfHosts, WhoWentAwayHasSaidNothing) {
  const NodeId gone = worker(0, 4)->node;
  roll_.remove(gone);
  EXPECT_EQ(roll_.workers(), 0U);
  EXPECT_TRUE(worker(0, 2).ok());
}

}  // namespace
}  // namespace stretto
