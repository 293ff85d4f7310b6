// SPDX-License-Identifier: Apache-2.0
// Admission of members: requested and assigned ranks, missing members, and refusals that name the
// expected and the actual value.
#include "scheduler/membership/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scheduler/sessions/join_request.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AdmissionTest : public testing::Test {
 protected:
  Result<Member> admit(const control::Hello& hello) {
    const Result<Join> join = join_from(hello, config_.token);
    return join.ok() ? admission_.admit(*join) : join.status();
  }
  Result<Member> worker(std::int64_t rank, const std::string& host = "") {
    control::Hello hello = fake::hello(Role::kWorker, rank);
    if (!host.empty()) hello.host = host;
    return admit(hello);
  }
  Result<Member> server(std::int64_t rank, std::uint32_t shard, const std::string& host) {
    control::Hello hello = fake::hello(Role::kServer, rank);
    hello.shard = shard;
    hello.shards = config_.shards;
    hello.servers = config_.servers;
    hello.host = host;
    return admit(hello);
  }

  Config config_ = fake::config(Role::kScheduler, -1);
  Admission admission_{config_};
};

TEST_F(AdmissionTest, GivesTheRanksThatAreAskedForAndNewIds) {
  const Result<Member> second = worker(1);
  const Result<Member> first = worker(0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->rank, 0U);
  EXPECT_EQ(second->rank, 1U);
  EXPECT_NE(first->node, second->node);
  EXPECT_GT(second->node, 1U) << "1 is the scheduler";
}

TEST_F(AdmissionTest, AssignsFreeRankWithoutRequest) {
  ASSERT_TRUE(worker(0).ok());
  EXPECT_EQ(worker(-1)->rank, 1U);
  const Status full = worker(-1, "late:7").status();
  EXPECT_EQ(full.cause(), "late:7 asks to be a worker, and all 2 have come");
}

TEST_F(AdmissionTest, IdsAreNeverGivenTwice) {
  const NodeId first = worker(0)->node;
  admission_.remove(first);
  const Result<Member> again = worker(0);
  ASSERT_TRUE(again.ok()) << "its place is free";
  EXPECT_NE(again->node, first);
}

TEST_F(AdmissionTest, ShardsOfOneProcessShareARank) {
  config_.servers = 2;
  config_.shards = 2;
  EXPECT_EQ(server(-1, 0, "a:1")->rank, 0U);
  EXPECT_EQ(server(-1, 0, "b:2")->rank, 1U);
  EXPECT_EQ(server(-1, 1, "b:2")->rank, 1U) << "beside its sibling";
  EXPECT_EQ(server(-1, 1, "a:1")->rank, 0U);
}

TEST_F(AdmissionTest, CompletesWhenNoMemberIsMissing) {
  config_.shards = 2;
  EXPECT_EQ(admission_.missing(), "server 0, server 0 shard 1, worker 0, worker 1");
  ASSERT_TRUE(worker(1).ok() && server(0, 1, "a:1").ok());
  EXPECT_EQ(admission_.missing(), "server 0, worker 0");
  EXPECT_FALSE(admission_.complete());
  ASSERT_TRUE(worker(0).ok() && server(0, 0, "a:1").ok());
  EXPECT_TRUE(admission_.complete());
  EXPECT_EQ(admission_.missing(), "");
  EXPECT_EQ(admission_.members().size(), 4U);
}

TEST_F(AdmissionTest, KnowsWhetherAWorkerHasCome) {
  ASSERT_TRUE(server(0, 0, "a:1").ok());
  EXPECT_FALSE(admission_.has_worker());
  const Result<Member> came = worker(1);
  ASSERT_TRUE(came.ok());
  EXPECT_TRUE(admission_.has_worker());
  admission_.remove(came->node);
  EXPECT_FALSE(admission_.has_worker());
}

TEST_F(AdmissionTest, NamesAFewOfManyMissing) {
  config_.workers = 20;
  EXPECT_EQ(admission_.missing(),
            "server 0, worker 0, worker 1, worker 2, worker 3, worker 4, worker 5, worker 6 "
            "and 13 more");
}

TEST_F(AdmissionTest, TwoProcessesWithOneRankAreBothNamed) {
  ASSERT_TRUE(worker(1, "here:11").ok());
  const Status status = worker(1, "there:22").status();
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(),
              HasSubstr("there:22 asks to be worker 1, and here:11 is that already"));
}

TEST_F(AdmissionTest, AJobWithoutServersIsCompleteWithItsWorkers) {
  config_.servers = 0;
  const auto come = [this](Role role, std::int64_t rank) {
    control::Hello hello = fake::hello(role, rank);
    hello.servers = 0;
    return admit(hello);
  };
  EXPECT_EQ(admission_.missing(), "worker 0, worker 1");
  for (const std::int64_t rank : {-1, 0}) {
    EXPECT_THAT(come(Role::kServer, rank).status().cause(),
                HasSubstr("asks to be a server, and this job has none"));
  }
  EXPECT_THAT(worker(0).status().cause(), HasSubstr("2 workers and 0 servers"))
      << "it was told of one";
  EXPECT_TRUE(come(Role::kWorker, 0).ok());
  EXPECT_FALSE(admission_.complete());
  EXPECT_TRUE(come(Role::kWorker, 1).ok());
  EXPECT_TRUE(admission_.complete());
}

struct Refusal {
  const char* name;
  Role role;
  std::function<void(control::Hello&)> spoil;
  const char* wanted;
  const char* found;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class AdmissionRefusal : public AdmissionTest, public testing::WithParamInterface<Refusal> {};

TEST_P(AdmissionRefusal, NamesExpectedAndFoundValue) {
  control::Hello hello = fake::hello(GetParam().role, 0);
  GetParam().spoil(hello);
  const Result<Member> member = admit(hello);
  ASSERT_FALSE(member.ok());
  EXPECT_EQ(member.status().code(), Code::kRefused);
  EXPECT_THAT(member.status().cause(),
              AllOf(HasSubstr(GetParam().wanted), HasSubstr(GetParam().found)));
  EXPECT_TRUE(admission_.members().empty());
  EXPECT_TRUE(admit(fake::hello(GetParam().role, 0)).ok()) << "the place is free";
}

INSTANTIATE_TEST_SUITE_P(
    All, AdmissionRefusal,
    testing::Values(Refusal{"Protocol", Role::kWorker, [](control::Hello& h) { h.protocol = 9; },
                            "this side speaks 5", "protocol 9"},
                    Refusal{"Token", Role::kWorker, [](control::Hello& h) { h.token = "x"; },
                            "a different one", "another job token"},
                    Refusal{"SchedulerAsMember", Role::kWorker,
                            [](control::Hello& h) { h.role = Role::kScheduler; },
                            "wanted a worker or a server", "comes as scheduler"},
                    Refusal{"Workers", Role::kWorker, [](control::Hello& h) { h.workers = 3; },
                            "the scheduler of 2 workers", "was told of 3 workers"},
                    Refusal{"Servers", Role::kWorker, [](control::Hello& h) { h.servers = 4; },
                            "2 workers and 1 servers", "and 4 servers"},
                    Refusal{"RankTooHigh", Role::kWorker, [](control::Hello& h) { h.rank = 2; },
                            "ranks are 0 to 1", "rank 2 of 2"},
                    Refusal{"RankTooLow", Role::kWorker, [](control::Hello& h) { h.rank = -2; },
                            "ranks are 0 to 1", "rank -2 of 2"},
                    Refusal{"RankThatWraps", Role::kWorker,
                            [](control::Hello& h) { h.rank = std::int64_t{1} << 32; },
                            "ranks are 0 to 1", "rank 4294967296"},
                    Refusal{"ShardOfAWorker", Role::kWorker, [](control::Hello& h) { h.shard = 1; },
                            "workers have none", "says it is shard 1"},
                    Refusal{"Shards", Role::kServer, [](control::Hello& h) { h.shards = 2; },
                            "told of 1 shards a server", "has 2 shards"},
                    Refusal{"ShardTooHigh", Role::kServer, [](control::Hello& h) { h.shard = 1; },
                            "told of 1 shards a server", "this is number 1"},
                    Refusal{"Address", Role::kServer,
                            [](control::Hello& h) { h.address = "nowhere"; }, "wanted host:port",
                            "'nowhere'"}),
    [](const auto& each) { return std::string(each.param.name); });

/// A scheduler that knows of two hosts, but not the number of workers on each.
class AdmissionOfHosts : public testing::Test {
 protected:
  static Config hosts() {
    Config config = fake::config(Role::kScheduler, -1);
    config.workers_are_hosts = true;
    return config;
  }
  Result<Member> admit(const control::Hello& hello) {
    const Result<Join> join = join_from(hello, config_.token);
    return join.ok() ? admission_.admit(*join) : join.status();
  }
  Result<Member> worker(std::int64_t rank, std::uint32_t told) {
    control::Hello hello = fake::hello(Role::kWorker, rank);
    hello.workers = told;
    return admit(hello);
  }

  Config config_ = hosts();
  Admission admission_{config_};
};

TEST_F(AdmissionOfHosts, TheFirstWorkerTellsHowManyThereAre) {
  EXPECT_EQ(admission_.workers(), 0U);
  EXPECT_FALSE(admission_.complete());
  EXPECT_THAT(admission_.missing(), HasSubstr("all workers of 2 hosts"));
  ASSERT_TRUE(worker(3, 6).ok());
  EXPECT_EQ(admission_.workers(), 6U);
  EXPECT_THAT(admission_.missing(), HasSubstr("worker 5"));
  EXPECT_THAT(worker(1, 4).status().cause(),
              AllOf(HasSubstr("worker 1 was told of 4 workers"), HasSubstr("of 6 workers")));
  for (std::int64_t rank : {0, 1, 2, 4, 5}) ASSERT_TRUE(worker(rank, 6).ok());
  control::Hello server = fake::hello(Role::kServer, 0);
  server.workers = 0;
  for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
    EXPECT_FALSE(admission_.complete());
    server.shard = shard;
    server.shards = config_.shards;
    ASSERT_TRUE(admit(server).ok()) << "servers need not know";
  }
  EXPECT_TRUE(admission_.complete()) << admission_.missing();
}

TEST_F(AdmissionOfHosts, RejectsInvalidWorkerCountOrRank) {
  EXPECT_THAT(worker(0, 3).status().cause(),
              AllOf(HasSubstr("of 3 workers"), HasSubstr("2 hosts with as many workers each")));
  EXPECT_FALSE(worker(0, 0).ok());
  EXPECT_FALSE(worker(0, 2 * kMaxNodes).ok());
  EXPECT_FALSE(worker(4, 4).ok()) << "ranks are 0 to 3";
  EXPECT_EQ(admission_.workers(), 0U) << "nobody who was let in has said";
}

TEST_F(AdmissionOfHosts, DepartedWorkerLeavesCountOpen) {
  const NodeId gone = worker(0, 4)->node;
  admission_.remove(gone);
  EXPECT_EQ(admission_.workers(), 0U);
  EXPECT_TRUE(worker(0, 2).ok());
}

// ---- a job that may grow

TEST_F(AdmissionTest, LateWorkerGetsNextRank) {
  ASSERT_TRUE(worker(0).ok() && worker(1).ok());
  EXPECT_EQ(admission_.admit_late({.host = "late:1"})->rank, 2U);
  EXPECT_EQ(admission_.admit_late({.rank = 3, .host = "late:2"})->rank, 3U);
  EXPECT_EQ(admission_.admit_late({.rank = 7, .host = "late:3"}).status().cause(),
            "late:3 asks to be worker 7, and the next one of the job is 4");
  EXPECT_FALSE(admission_.admit_late({.rank = -2}).ok());
  EXPECT_FALSE(admission_.admit_late({.shard = 1}).ok());
}

TEST_F(AdmissionTest, ShardsThatComeLateSitBesideTheirSiblings) {
  config_.shards = 2;
  Join join{.role = Role::kServer, .shard = 0, .host = "a:1", .address = "a:7000"};
  EXPECT_EQ(admission_.admit_late(join)->rank, 0U);
  join.host = "b:1";
  EXPECT_EQ(admission_.admit_late(join)->rank, 1U);
  join.shard = 1;
  EXPECT_EQ(admission_.admit_late(join)->rank, 1U);
  join.shard = 2;
  EXPECT_FALSE(admission_.admit_late(join).ok());
  join = {.role = Role::kServer, .host = "c:1", .address = "nowhere"};
  EXPECT_FALSE(admission_.admit_late(join).ok());
}

TEST_F(AdmissionTest, RemainingWorkersCloseRankGaps) {
  config_.workers = 4;
  std::vector<NodeId> nodes;
  for (const std::int64_t rank : {0, 1, 2, 3}) {
    control::Hello hello = fake::hello(Role::kWorker, rank);
    hello.workers = 4;
    nodes.push_back(admit(hello)->node);
  }
  admission_.remove(nodes[0]);
  admission_.remove(nodes[2]);
  admission_.close_gaps(Role::kWorker);
  const std::vector<Member> members = admission_.members();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].node, nodes[1]);
  EXPECT_EQ(members[0].rank, 0U);
  EXPECT_EQ(members[1].node, nodes[3]);
  EXPECT_EQ(members[1].rank, 1U);
}

}  // namespace
}  // namespace stretto
