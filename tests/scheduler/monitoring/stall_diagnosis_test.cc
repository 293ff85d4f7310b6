// SPDX-License-Identifier: Apache-2.0
// Each kind of stall in a table of three workers and two shards, and cases that are none.
#include "scheduler/monitoring/stall_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using control::Activity;
using testing::HasSubstr;

constexpr NodeId kShard0 = 1;
constexpr NodeId kShard1 = 2;
constexpr NodeId kWorker0 = 10;

class StallDiagnosisTest : public testing::Test {
 protected:
  StallDiagnosisTest() {
    table_.limit = 2s;
    table_.silent_after = 2500ms;
    table_.doubtful_after = 1500ms;
    table_.last_life = now_ - 200ms;
    for (const NodeId node : {kShard0, kShard1}) add(node, Role::kServer, node - kShard0);
    for (Rank rank = 0; rank < 3; ++rank) add(kWorker0 + rank, Role::kWorker, rank);
    waits(0, "push_pull 'x'", 6s);
    waits(2, "push_pull 'x'", 6s);
    lacks("x", {1});
  }
  void add(NodeId node, Role role, Rank rank) {
    JobActivity::Row& row = table_.rows[node];
    row.member = {.node = node, .role = role, .rank = rank, .shard = 0, .address = ""};
    row.heard = now_ - 200ms;
    row.activity.age = 6s;
    row.cores = 1;
  }
  JobActivity::Row& worker(Rank rank) { return table_.rows.at(kWorker0 + rank); }
  void waits(Rank rank, const std::string& call, Duration age) {
    JobActivity::Row& row = worker(rank);
    row.call = call;
    row.activity.place = Activity::Place::kInCall;
    row.activity.age = age;
    if (call.ends_with("'")) row.activity.awaits = {kShard0};
  }
  void lacks(const std::string& tensor, std::vector<Rank> missing, Duration age = 6s,
             NodeId shard = kShard0) {
    table_.waits.push_back({.shard = shard,
                            .tensor = tensor,
                            .round = 7,
                            .since = now_ - age,
                            .missing = std::move(missing)});
  }
  /// The culprit, its place and the cause: "worker 1 computing sleep"; empty if none.
  std::string found() const {
    const std::optional<StallDiagnosis> verdict = culprit(table_, now_);
    if (!verdict) return "";
    return std::string(name_of(verdict->role)) + " " + std::to_string(verdict->rank) + " " +
           std::string(name_of(verdict->phase)) + ": " + std::string(name_of(verdict->cause));
  }
  std::string text() const { return culprit(table_, now_)->text; }
  void rests(Rank rank, Activity::Rest rest, const std::string& on = "") {
    worker(rank).cores = 0.01;
    worker(rank).activity.rest = rest;
    worker(rank).activity.rest_on = on;
  }

  JobActivity table_;
  const Time now_{1h};
};

TEST_F(StallDiagnosisTest, NamesComputingWorker) {
  EXPECT_EQ(found(), "worker 1 computing: computes");
  EXPECT_EQ(text(), "worker 1 computes (1.0 cores), and has not pushed 'x', round 7");
  EXPECT_EQ(culprit(table_, now_)->age, 6s);
}

TEST_F(StallDiagnosisTest, NamesWorkerBlockedByLock) {
  rests(1, Activity::Rest::kLock);
  EXPECT_EQ(found(), "worker 1 computing: lock");
  worker(1).cores = 3;  // Its other threads compute.
  EXPECT_EQ(found(), "worker 1 computing: computes");
}

TEST_F(StallDiagnosisTest, NamesWorkerSleepingOrAwaitingChild) {
  rests(1, Activity::Rest::kSleep);
  EXPECT_EQ(found(), "worker 1 computing: sleep");
  rests(1, Activity::Rest::kChild);
  EXPECT_EQ(found(), "worker 1 computing: child");
}

TEST_F(StallDiagnosisTest, NamesWorkerWaitingForData) {
  rests(1, Activity::Rest::kRead, "read of pipe:[7]");
  EXPECT_EQ(found(), "worker 1 computing: data");
  EXPECT_THAT(text(), HasSubstr("worker 1 waits for data (read of pipe:[7])"));
  rests(1, Activity::Rest::kLock);
  worker(1).input_wait = 0.98;  // The reader's own report counts.
  EXPECT_EQ(found(), "worker 1 computing: data");
  worker(1).input_wait = 0;
  rests(1, Activity::Rest::kDevice);
  EXPECT_EQ(found(), "worker 1 computing: data");
}

TEST_F(StallDiagnosisTest, NamesWorkerWaitingForMemory) {
  worker(1).cores = 0.4;
  worker(1).page_reads_per_s = 4000;
  EXPECT_EQ(found(), "worker 1 computing: memory");
  worker(1).page_reads_per_s = 0;
  rests(1, Activity::Rest::kMemory);
  EXPECT_EQ(found(), "worker 1 computing: memory");
}

TEST_F(StallDiagnosisTest, NamesSilentWorkerAsStopped) {
  worker(1).heard = now_ - 3s;
  EXPECT_EQ(found(), "worker 1 stopped: silence");
  EXPECT_THAT(text(), HasSubstr("has not been heard of for 2.8 s"));
}

TEST_F(StallDiagnosisTest, OverdueHeartbeatDefersVerdict) {
  worker(1).heard = now_ - 2s;
  EXPECT_EQ(found(), "");
  table_.waits.clear();
  worker(1).heard = now_;
  waits(1, "push_pull 'x'", 6s);
  EXPECT_EQ(found(), "worker 0 on its link: link");
  table_.rows.at(kShard0).heard = now_ - 2s;
  EXPECT_EQ(found(), "") << "the server may be about to say whose push it lacks";
}

TEST_F(StallDiagnosisTest, NamesNoCulpritWithoutHeartbeats) {
  worker(1).heard = now_ - 9s;
  EXPECT_EQ(found(), "worker 1 stopped: silence");
  table_.last_life = now_ - 8s;
  for (auto& [node, row] : table_.rows) row.heard = now_ - 8s;
  EXPECT_EQ(found(), "");
  table_.last_life = now_;
  for (auto& [node, row] : table_.rows) row.heard = now_;
  EXPECT_EQ(found(), "worker 1 computing: computes");
  table_.resumed = now_ - 1s;
  EXPECT_EQ(found(), "") << "time counts from when all went on";
}

TEST_F(StallDiagnosisTest, NamesEndingWorker) {
  worker(1).activity.place = Activity::Place::kEnding;
  EXPECT_EQ(found(), "worker 1 ending: end");
}

TEST_F(StallDiagnosisTest, NamesWorkerInNonCollectiveCall) {
  worker(1).activity.place = Activity::Place::kInCall;
  worker(1).activity.call = "declare";
  EXPECT_EQ(found(), "worker 1 in a call: call");
  EXPECT_THAT(text(), HasSubstr("is in declare"));
}

TEST_F(StallDiagnosisTest, NamesWorkerHoldingItsPush) {
  waits(1, "push_pull 'x'", 6s);
  worker(1).activity.held = true;
  EXPECT_EQ(found(), "worker 1 in a call: held back");
}

TEST_F(StallDiagnosisTest, NamesWorkerHoldingPartlySentPush) {
  waits(1, "push_pull 'y'", 6s);
  lacks("y", {0, 2});
  EXPECT_EQ(found(), "worker 1 in another call: other call");
  worker(1).activity.held = true;
  EXPECT_EQ(found(), "worker 1 in a call: held back");
}

TEST_F(StallDiagnosisTest, NamesLinkOfWorkerWithStuckPush) {
  waits(1, "push_pull 'x'", 6s);
  EXPECT_EQ(found(), "worker 1 on its link: link");
  EXPECT_THAT(text(), HasSubstr("its link to server 0"));
  worker(1).moves = true;
  EXPECT_EQ(found(), "") << "it is slow, and goes on";
}

TEST_F(StallDiagnosisTest, JustSentPushDefersVerdict) {
  waits(1, "push_pull 'x'", 1s);
  EXPECT_EQ(found(), "");
}

TEST_F(StallDiagnosisTest, AServerThatIsNotHeardOf) {
  table_.waits.clear();
  waits(1, "push_pull 'x'", 6s);
  table_.rows.at(kShard0).heard = now_ - 3s;
  EXPECT_EQ(found(), "server 0 stopped: silence");
  lacks("x", {1});  // Its earlier reports are void.
  EXPECT_EQ(found(), "server 0 stopped: silence");
  worker(2).activity.pause = "saving";
  EXPECT_EQ(found(), "") << "nobody needs it";
  worker(2).activity.pause.clear();
  worker(2).paused = now_ - 1500ms;
  EXPECT_EQ(found(), "") << "time counts anew";
  worker(2).paused = now_ - 2500ms;
  EXPECT_EQ(found(), "server 0 stopped: silence");
}

TEST_F(StallDiagnosisTest, AValueThatDoesNotCome) {
  table_.waits.clear();
  waits(1, "push_pull 'y'", 100ms);
  EXPECT_EQ(found(), "worker 0 on its link: link");
  EXPECT_THAT(text(), HasSubstr("server 0"));
  worker(2).moves = true;
  EXPECT_EQ(found(), "");
}

TEST_F(StallDiagnosisTest, NamesLinkOfWorkerMissingValue) {
  waits(1, "push_pull 'w'", 6s);  // The previous round, which is complete.
  EXPECT_EQ(found(), "worker 1 on its link: link");
  waits(1, "push_pull 'w'", 1s);
  EXPECT_EQ(found(), "");
}

TEST_F(StallDiagnosisTest, NamesWorkerInDifferentCall) {
  waits(1, "barrier", 6s);
  EXPECT_EQ(found(), "worker 1 in another call: other call");
  EXPECT_EQ(text(),
            "worker 1 waits in barrier, and has not pushed 'x', round 7; workers 0, 2 wait in "
            "push_pull 'x'");
}

TEST_F(StallDiagnosisTest, OfTwoInDifferentCallsTheLastIsNamed) {
  table_.rows.erase(kWorker0 + 2);
  waits(1, "broadcast 'y'", 6s);
  lacks("y", {0});
  EXPECT_EQ(found(), "worker 1 in another call: other call");
}

TEST_F(StallDiagnosisTest, NamesCulpritBehindWaitingWorker) {
  waits(1, "barrier", 4s);
  worker(2).call = "";
  worker(2).activity = {.age = 6s, .awaits = {}};
  rests(2, Activity::Rest::kLock);
  EXPECT_EQ(found(), "worker 2 computing: lock");
  EXPECT_THAT(text(), HasSubstr("; worker 1 waits for it, and has not pushed 'x', round 7"));
}

TEST_F(StallDiagnosisTest, OfSeveralTheOneThatIsBlockedIsNamed) {
  worker(2) = JobActivity::Row(worker(1));
  worker(2).member.rank = 2;
  table_.waits.clear();
  lacks("x", {1, 2});
  EXPECT_EQ(found(), "worker 1 computing: computes");
  EXPECT_THAT(text(), HasSubstr("; nor has worker 2"));
  rests(2, Activity::Rest::kLock);
  EXPECT_EQ(found(), "worker 2 computing: lock");
}

TEST_F(StallDiagnosisTest, NamesWorkerMissingFromBarrier) {
  table_.waits.clear();
  waits(0, "barrier", 3s);
  waits(2, "barrier", 1s);
  EXPECT_EQ(found(), "worker 1 computing: computes");
  EXPECT_THAT(text(), HasSubstr("has not come to the barrier"));
  waits(1, "barrier", 1s);
  EXPECT_EQ(found(), "") << "all are there";
}

TEST_F(StallDiagnosisTest, PausedWorkerSuppressesVerdict) {
  worker(1).activity.pause = "evaluation";
  EXPECT_EQ(found(), "");
  table_.waits.clear();
  waits(0, "barrier", 30s);
  waits(2, "barrier", 30s);
  EXPECT_EQ(found(), "");
}

TEST_F(StallDiagnosisTest, AfterAPauseTimeCountsAnew) {
  worker(1).paused = now_ - 1500ms;
  EXPECT_EQ(found(), "");
  worker(1).paused = now_ - 2500ms;
  EXPECT_EQ(found(), "worker 1 computing: computes");
  EXPECT_EQ(culprit(table_, now_)->age, 2500ms);
}

TEST_F(StallDiagnosisTest, AWaitThatIsUsualIsNoStandstill) {
  table_.limit = 7s;
  EXPECT_EQ(found(), "");
}

TEST_F(StallDiagnosisTest, AJobWithoutWaitsIsNone) {
  table_.waits.clear();
  for (Rank rank = 0; rank < 3; ++rank) worker(rank).call = "";
  EXPECT_EQ(found(), "");
  table_.rows.clear();
  lacks("x", {1});
  EXPECT_EQ(found(), "") << "nobody is known";
}

}  // namespace
}  // namespace stretto
