// SPDX-License-Identifier: Apache-2.0
// Rates from heartbeats, and which worker is the straggler.
#include "scheduler/monitoring/job_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/common/cpu_time.h"
#include "van/wire/header.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    snapshot_.set_members(
        {{.node = 2, .role = Role::kServer, .rank = 0, .shard = 0, .address = "a", .left = false},
         {.node = 4, .role = Role::kWorker, .rank = 1, .shard = 0, .address = "", .left = false},
         {.node = 3, .role = Role::kWorker, .rank = 0, .shard = 0, .address = "", .left = false}});
  }
  void beat(NodeId node, std::uint64_t rounds, std::uint64_t bytes) {
    control::Heartbeat beat;
    beat.rounds = rounds;
    beat.bytes_out = bytes;
    snapshot_.heard(node, beat, now_);
  }
  void held(Rank rank, Duration time) {
    snapshot_.heard(2, {.held = {{.rank = rank, .time = time}}}, now_);
  }

  Snapshot snapshot_;
  Time now_{1h};
};

TEST_F(SnapshotTest, RatesAreOverTheLastSeconds) {
  beat(3, 10, 1'000'000);
  now_ += 4s;
  beat(3, 50, 9'000'000);
  const auto& node = snapshot_.nodes().at(3);
  EXPECT_DOUBLE_EQ(node.out_per_s, 2e6);
  EXPECT_DOUBLE_EQ(node.rounds_per_s, 10);
}

TEST_F(SnapshotTest, MeasuresShareHeldByStraggler) {
  held(1, 100ms);
  beat(4, 1, 0);
  now_ += 2s;
  held(1, 1100ms);
  beat(4, 2, 0);
  EXPECT_NEAR(snapshot_.nodes().at(4).held_share, 0.5, 1e-9);
}

TEST_F(SnapshotTest, WorkersComeFirstByRank) {
  beat(3, 7, 0);
  const std::string json = snapshot_.json("running", 0, now_);
  EXPECT_LT(json.find("worker 0"), json.find("worker 1"));
  EXPECT_LT(json.find("worker 1"), json.find("server 0"));
  EXPECT_THAT(json, HasSubstr(R"("behind":7)"));
  EXPECT_THAT(snapshot_.json("running", 2, now_), testing::Not(HasSubstr("worker")));
  snapshot_.left(3, false);
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("left":true,"lost":false)"));
  snapshot_.left(3, true);
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("left":true,"lost":true)"));
}

TEST_F(SnapshotTest, ShowsStandbyUntilDeparture) {
  Member standby{.node = 9, .role = Role::kServer, .rank = 0, .shard = 0, .address = ""};
  standby.standby = true;
  snapshot_.set_members({standby});
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("standby":true)"));
  snapshot_.left(9, true);
  EXPECT_THAT(snapshot_.json("running", 0, now_), testing::Not(HasSubstr(R"("standby":true)")));
}

// Ranks of an elastic job are renumbered: reports about a worker name it by its member id.
TEST_F(SnapshotTest, MatchesReportsByNumberAfterLoss) {
  Member second{.node = 4, .role = Role::kWorker, .rank = 0, .shard = 0, .address = ""};
  second.moved_up = 1;
  snapshot_.set_members({{.node = 3,
                          .role = Role::kWorker,
                          .rank = 0,
                          .shard = 0,
                          .address = "",
                          .left = true,
                          .lost = true},
                         second});
  InputView view;
  view.word = "slow device";
  snapshot_.set_input({{1, view}});
  EXPECT_EQ(snapshot_.nodes().at(4).input->word, "slow device");
  held(1, 100ms);
  beat(4, 1, 0);
  now_ += 2s;
  held(1, 1100ms);
  beat(4, 2, 0);
  EXPECT_NEAR(snapshot_.nodes().at(4).held_share, 0.5, 1e-9);
  const std::string json = snapshot_.json("running", 0, now_);
  EXPECT_THAT(json, HasSubstr(R"("left":true,"lost":true,"name":"worker 0")"));
  EXPECT_THAT(json, HasSubstr(R"("name":"worker 1","out_per_s":0.0,"rank":1)"));
}

TEST_F(SnapshotTest, LateJoinerIsNotBehindByMissedRounds) {
  beat(3, 500, 0);
  Member newcomer{.node = 9, .role = Role::kWorker, .rank = 2, .shard = 0, .address = ""};
  newcomer.joining = true;
  newcomer.from_step = 100;
  snapshot_.set_members({newcomer});
  beat(9, 0, 0);
  beat(4, 700, 0);
  newcomer.joining = false;
  snapshot_.set_members({newcomer});
  beat(9, 1, 0);
  EXPECT_EQ(snapshot_.nodes().at(9).missed, 699U);
  beat(4, 710, 0);
  beat(9, 8, 0);
  EXPECT_THAT(snapshot_.json("running", 2, now_), HasSubstr(R"("behind":3)"));
  beat(9, 90, 0);  // Now the fastest worker.
  EXPECT_THAT(snapshot_.json("running", 2, now_), HasSubstr(R"("behind":0)"));
}

TEST_F(SnapshotTest, InputIsOfWorkersThatReadSomething) {
  InputView view;
  view.bytes_per_s = 5e6;
  view.word = "slow device";
  snapshot_.set_input({{1, view}});
  EXPECT_EQ(snapshot_.nodes().at(4).input->word, "slow device");
  EXPECT_FALSE(snapshot_.nodes().at(3).input);
  EXPECT_FALSE(snapshot_.nodes().at(2).input);
  const std::string json = snapshot_.json("running", 0, now_);
  EXPECT_THAT(json, HasSubstr(R"("per_s":5000000.0)"));
  EXPECT_THAT(json, HasSubstr(R"("input":null)"));
  snapshot_.set_input({});
  EXPECT_FALSE(snapshot_.nodes().at(4).input);
}

TEST_F(SnapshotTest, KeepsValidReportsWithinLimit) {
  const auto report = [this](NodeId node, const std::string& name, double value) {
    control::Heartbeat beat;
    beat.reports = {{name, value}};
    snapshot_.heard(node, beat, now_);
  };
  report(3, "loss", 0.5);
  report(3, "loss", 0.25);
  report(3, "nan", std::numeric_limits<double>::quiet_NaN());
  report(3, "line\nbreak", 1);
  report(2, "a server's", 1);
  EXPECT_THAT(snapshot_.nodes().at(3).reports, testing::ElementsAre(testing::Pair("loss", 0.25)));
  EXPECT_THAT(snapshot_.nodes().at(2).reports, testing::IsEmpty());
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("reports":{"loss":0.25})"));
  for (int i = 0; i < 100; ++i) report(3, "name" + std::to_string(i), i);
  EXPECT_EQ(snapshot_.nodes().at(3).reports.size(), kMostReportedNames);
}

TEST_F(SnapshotTest, HowTensorsAreExchangedIsKeptUntilItChanges) {
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("exchange":[])"));
  control::Heartbeat beat;
  beat.chosen = {{.plan = "ring", .tensors = 3, .bytes = 70, .why = "ring: 1.2 ms"}};
  snapshot_.heard(3, beat, now_);
  snapshot_.heard(3, {}, now_);
  const std::string told =
      R"("exchange":[{"bytes":70,"plan":"ring","tensors":3,"why":"ring: 1.2 ms"}])";
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(told));
  beat.chosen.front().plan = "direct";
  snapshot_.heard(3, beat, now_);
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("plan":"direct")"));
  snapshot_.left(3, false);
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("exchange":[])"));
}

TEST_F(SnapshotTest, LargestSnapshotFitsMessage) {
  std::vector<Member> members;
  for (NodeId node = 10; node < 510; ++node) {
    members.push_back({.node = node,
                       .role = Role::kWorker,
                       .rank = node,
                       .shard = 0,
                       .address = "",
                       .left = false});
  }
  snapshot_.set_members(members);
  control::Heartbeat beat;
  for (int i = 0; i < 32; ++i) {
    beat.reports[std::string(60, 'x') + std::to_string(i)] = -1.2345678901234567e-100;
  }
  beat.chosen.assign(control::Heartbeat::kMostChosen,
                     {.plan = std::string(128, 'p'), .why = std::string(512, '"')});
  for (NodeId node = 10; node < 510; ++node) snapshot_.heard(node, beat, now_);
  EXPECT_LT(snapshot_.json("running", 0, now_ + 1234567ns).size(), wire::kMaxControlBytes * 3 / 4);
}

TEST_F(SnapshotTest, ShowsStallCulpritAndCause) {
  EXPECT_THAT(snapshot_.json("running", 0, now_), HasSubstr(R"("stall":null)"));
  snapshot_.set_standstill(StallDiagnosis{.rank = 1,
                                          .phase = StallPhase::kComputing,
                                          .cause = StallCause::kLock,
                                          .age = 5s,
                                          .text = "worker 1 is blocked"});
  EXPECT_THAT(snapshot_.json("running", 0, now_),
              HasSubstr(R"("stall":{"cause":"lock","phase":"computing","rank":1,"role":"worker",)"
                        R"("s":5.0,"shard":0,"word":"worker 1 is blocked"})"));
}

TEST_F(SnapshotTest, TheShardThatWaitedLongestCounts) {
  beat(4, 1, 0);
  now_ += 2s;
  snapshot_.set_members(
      {{.node = 9, .role = Role::kServer, .rank = 1, .shard = 0, .address = "b"}});
  snapshot_.heard(9, {.held = {{.rank = 1, .time = 1s}, {.rank = 0, .time = 2s}}}, now_);
  held(1, 500ms);
  beat(4, 2, 0);
  EXPECT_EQ(snapshot_.nodes().at(4).held, 1s);
}

// The cost of a worker's heartbeat, by how many other workers are blocked at the same shards.
Duration cost_of_heartbeat(Rank workers) {
  constexpr NodeId kShards = 16;
  Snapshot snapshot;
  const Time now{1h};
  std::vector<Member> members;
  for (NodeId node = 0; node < kShards; ++node) {
    members.push_back(
        {.node = node, .role = Role::kServer, .rank = node, .shard = 0, .address = ""});
  }
  members.push_back({.node = 99, .role = Role::kWorker, .rank = 0, .shard = 0, .address = ""});
  snapshot.set_members(members);
  control::Heartbeat beat;
  for (Rank rank = 0; rank < workers; ++rank) beat.held.push_back({.rank = rank, .time = 1s});
  for (NodeId node = 0; node < kShards; ++node) snapshot.heard(node, beat, now);
  return least_cpu_time([&snapshot, now] {
    for (int i = 0; i < 1000; ++i) snapshot.heard(99, {}, now);
  });
}

TEST_F(SnapshotTest, AHeartbeatLooksAtNoOtherWorkers) {
  const Duration of_16 = cost_of_heartbeat(16);
  EXPECT_LT(cost_of_heartbeat(1024), 8 * of_16) << "there are 64 times as many others";
}

TEST_F(SnapshotTest, StrangersAreIgnored) {
  beat(99, 1, 1);
  snapshot_.left(99, true);
  EXPECT_EQ(snapshot_.nodes().size(), 3U);
}

}  // namespace
}  // namespace stretto
