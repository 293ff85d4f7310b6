// SPDX-License-Identifier: Apache-2.0
// Which members of an elastic job are stopped first, in virtual time.
#include <algorithm>

#include "tests/tools/launch_supervisor_fixture.h"
#include "tools/launch/supervision/stop_orders.h"

namespace stretto::launch::supervised {
namespace {

class StopOrdersTest : public SupervisorFixture {
 protected:
  StopOrdersTest() : SupervisorFixture(GoingOn::Sizing::kElastic, 2) {}

  int status() const { return supervisor_.outcome().verdict.exit_status; }
};

TEST_F(StopOrdersTest, SigtermGoesToWorkersFirst) {
  run_all();
  const Reaction told = signal(SIGTERM);
  EXPECT_EQ(told.orders, to({kSecondWorker, kFirstWorker}, SIGTERM, Scope::kProcess));
  EXPECT_EQ(told.notes, std::vector<std::string>{
                            "sent SIGTERM to worker 0, worker 1; SIGKILL follows after 20 s"});
  note_left(supervisor_, 0, now_);
  note_left(supervisor_, 1, now_);
  EXPECT_TRUE(end({{kFirstWorker, kFine}, {kSecondWorker, kFine}}).orders.empty());
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
  EXPECT_TRUE(supervisor_.outcome().interrupted);
}

TEST_F(StopOrdersTest, ServersAreStoppedAfterTheLastWorker) {
  run_all();
  signal(SIGTERM);
  end({{kFirstWorker, kTerminated}, {kSecondWorker, kTerminated}});
  const Reaction stop = wait();
  EXPECT_EQ(elapsed(), Limits().settle);
  EXPECT_TRUE(std::ranges::count(stop.orders, SignalOrder{kServer, SIGTERM, Scope::kProcess}));
  EXPECT_TRUE(std::ranges::count(stop.orders, SignalOrder{kScheduler, SIGTERM, Scope::kProcess}));
  EXPECT_EQ(stop.notes, std::vector<std::string>{
                            "sent SIGTERM to scheduler, server 0; SIGKILL follows after 17 s"});
  end({{kServer, kTerminated}, {kScheduler, {false, 1}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 128 + SIGTERM);
}

TEST_F(StopOrdersTest, LateWorkersAreKilledAfterTheGrace) {
  run_all();
  signal(SIGTERM);
  end({{kFirstWorker, kFine}});
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), Limits().grace);
  EXPECT_TRUE(std::ranges::count(late.orders, SignalOrder{kSecondWorker, SIGKILL, Scope::kGroup}));
  EXPECT_EQ(late.notes, (std::vector<std::string>{
                            "sent SIGKILL to worker 1",
                            "sent SIGTERM to scheduler, server 0; SIGKILL follows after 5 s"}));
}

TEST_F(StopOrdersTest, SigtermGoesToAllBeforeWorkersJoined) {
  start_all();
  EXPECT_EQ(signal(SIGTERM).orders.size(), 4U);
}

TEST_F(StopOrdersTest, LateReplacementMayEndBySigterm) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(4);
  const Reaction told = signal(SIGTERM);
  EXPECT_TRUE(std::ranges::count(told.orders, SignalOrder{4, SIGTERM, Scope::kProcess}));
  end({{4, kTerminated}, {kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(StopOrdersTest, LossBeforeSigtermIsForgivenByNews) {
  run_all();
  end({{kFirstWorker, kKilled}});
  signal(SIGTERM);
  EXPECT_TRUE(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts.empty());
  now_ += Limits().word;
  supervisor_.on_time(now_);
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(StopOrdersTest, WorkerThatCannotLeaveIsNotForgiven) {
  run_all();
  signal(SIGTERM);
  end({{kFirstWorker, kTerminated}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 128 + SIGTERM);
}

TEST_F(StopOrdersTest, KilledServerIsBlamedWhileWorkersLeave) {
  run_all();
  signal(SIGTERM);
  EXPECT_FALSE(supervisor_.evidence().members[kServer].told);
  end({{kServer, kKilled}});
  now_ += 1s;
  end({{kFirstWorker, kStatus3}, {kSecondWorker, kStatus3}, {kScheduler, {false, 69}}});
  now_ += Limits().word;
  supervisor_.on_time(now_);
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "137 ERROR ServerLost role=server rank=0 peer=- op=run cause=killed by "
            "SIGKILL");
}

// The scheduler fails because no worker is left; it is not the root cause.
TEST_F(StopOrdersTest, SchedulerMayFailAfterKilledWorkers) {
  run_all();
  signal(SIGTERM);
  end({{kFirstWorker, kTerminated}, {kSecondWorker, kTerminated}});
  now_ += 1s;
  end({{kScheduler, {false, 69}}, {kServer, {false, 69}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 128 + SIGTERM);
}

// ---- replacements of a job that has failed

TEST_F(StopOrdersTest, LateReplacementIsStoppedWithItsScheduler) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(4);
  end({{kServer, kKilled}});
  const Reaction told = end({{kScheduler, {false, 69}}});
  EXPECT_TRUE(std::ranges::count(told.orders, SignalOrder{4, SIGTERM, Scope::kProcess}));
  EXPECT_EQ(std::ranges::count(told.orders, SignalOrder{kSecondWorker, SIGTERM, Scope::kProcess}),
            0)
      << "a member has heard of the failure";
  EXPECT_EQ(told.notes.back(), "sent SIGTERM to worker 2, whose scheduler has ended");
  EXPECT_TRUE(supervisor_.on_time(now_).orders.empty()) << "once";
}

TEST_F(StopOrdersTest, JoinedReplacementHasHeardOfTheFailure) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(4);
  note_joined(supervisor_, 2);
  end({{kServer, kKilled}});
  EXPECT_TRUE(end({{kScheduler, {false, 69}}}).orders.empty());
}

class StopOrdersStandbyTest : public SupervisorFixture {
 protected:
  StopOrdersStandbyTest() : SupervisorFixture(GoingOn::Sizing::kServersStandBy, 0, 1) {}
};

TEST_F(StopOrdersStandbyTest, LateServerIsStoppedWithItsScheduler) {
  run_all();
  end({{kServer, kKilled}});
  ASSERT_EQ(supervisor_.on_loss_news(kServer, false, now_).restarts.size(), 1U);
  supervisor_.on_spawned(kServer);
  const Reaction told = end({{kScheduler, {false, 69}}});
  EXPECT_EQ(told.orders, to({kServer}, SIGTERM, Scope::kProcess));
}

}  // namespace
}  // namespace stretto::launch::supervised
