// SPDX-License-Identifier: Apache-2.0
// The rules of supervision, event by event, in virtual time.
#include <gtest/gtest.h>
#include <signal.h>

#include "common/program.h"
#include "tools/launch/supervisor.h"

namespace stretto::launch {
namespace {

using Scope = Order::Scope;

// Two workers and one server, in starting order.
constexpr std::size_t kScheduler = 0;
constexpr std::size_t kServer = 1;
constexpr std::size_t kFirst = 2;
constexpr std::size_t kSecond = 3;

constexpr Exit kFine{false, 0};
constexpr Exit kStatus3{false, 3};
constexpr Exit kKilled{true, SIGKILL};
constexpr Exit kTerminated{true, SIGTERM};

class LaunchSupervisor : public testing::Test {
 protected:
  void run_all() {
    supervisor_.on_spawned(kScheduler);
    supervisor_.on_ready();
    ASSERT_TRUE(supervisor_.may_start_others());
    for (const std::size_t member : {kServer, kFirst, kSecond}) supervisor_.on_spawned(member);
  }

  Reaction end(const std::vector<Ended>& ended, std::size_t orphans = 0) {
    return supervisor_.on_ended(ended, orphans, now_);
  }
  Reaction signal(int number) { return supervisor_.on_signal(number, now_); }

  // To the next deadline, and what is done there.
  Reaction wait() {
    EXPECT_TRUE(supervisor_.deadline().has_value());
    now_ = *supervisor_.deadline();
    EXPECT_TRUE(supervisor_.on_time(now_ - 1ns).orders.empty());
    return supervisor_.on_time(now_);
  }
  Duration elapsed() const { return now_ - start_; }

  // One signal for each of the members, in their order.
  static std::vector<Order> to(const std::vector<std::size_t>& members, int number, Scope scope) {
    std::vector<Order> orders;
    for (const std::size_t member : members) orders.push_back({member, number, scope});
    return orders;
  }

  std::string verdict() const {
    const Verdict verdict = supervisor_.verdict();
    return std::to_string(verdict.exit_status) + " " +
           verdict.error.error_line(name_of(verdict.who.role), verdict.who.rank);
  }

  const Time start_{100s};
  Time now_ = start_;
  Supervisor supervisor_{
      {{Role::kScheduler, 0}, {Role::kServer, 0}, {Role::kWorker, 0}, {Role::kWorker, 1}},
      Limits{},
      start_};
};

TEST_F(LaunchSupervisor, ASuccessfulJobIsLeftAlone) {
  run_all();
  EXPECT_FALSE(supervisor_.deadline());
  EXPECT_TRUE(end({{kFirst, kFine}}).orders.empty());
  EXPECT_TRUE(end({{kSecond, kFine}}).orders.empty());
  EXPECT_TRUE(end({{kServer, kFine}, {kScheduler, kFine}}).notes.empty());
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 0);
  EXPECT_TRUE(supervisor_.verdict().error.ok());
}

TEST_F(LaunchSupervisor, ServersThatStayAreEndedWithAWarning) {
  run_all();
  end({{kScheduler, kFine}});
  end({{kFirst, kFine}, {kSecond, kFine}});
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), 10s);
  EXPECT_EQ(late.orders, (std::vector<Order>{{kScheduler, SIGTERM, Scope::kGroup},
                                             {kServer, SIGTERM, Scope::kProcess},
                                             {kFirst, SIGTERM, Scope::kGroup},
                                             {kSecond, SIGTERM, Scope::kGroup}}));
  ASSERT_FALSE(late.notes.empty());
  EXPECT_EQ(late.notes[0], "warning: still running 10 s after the last worker: server 0");
  end({{kServer, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 0);
}

TEST_F(LaunchSupervisor, AServerThatFailsAfterTheWorkIsOnlyAWarning) {
  run_all();
  end({{kFirst, kFine}, {kSecond, kFine}});
  EXPECT_EQ(end({{kServer, kStatus3}}).notes,
            std::vector<std::string>{"warning: server 0 exited with status 3"});
  end({{kScheduler, kFine}});
  EXPECT_EQ(supervisor_.verdict().exit_status, 0);
}

TEST_F(LaunchSupervisor, AFailedWorkerIsNamedAndOthersMaySettle) {
  run_all();
  EXPECT_TRUE(end({{kSecond, kStatus3}}).orders.empty());
  EXPECT_TRUE(end({{kFirst, {false, 1}}}).orders.empty());
  EXPECT_TRUE(end({{kServer, {false, 1}}}).orders.empty());
  end({{kScheduler, {false, 1}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "3 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 3");
}

TEST_F(LaunchSupervisor, ThoseThatDoNotSettleAreToldThenKilled) {
  run_all();
  end({{kFirst, kKilled}});
  const Reaction told = wait();
  EXPECT_EQ(elapsed(), 3s);
  EXPECT_EQ(told.orders, (std::vector<Order>{{kScheduler, SIGTERM, Scope::kProcess},
                                             {kServer, SIGTERM, Scope::kProcess},
                                             {kFirst, SIGTERM, Scope::kGroup},
                                             {kSecond, SIGTERM, Scope::kProcess}}));
  end({{kScheduler, kTerminated}, {kServer, kTerminated}});
  const Reaction killed = wait();
  EXPECT_EQ(elapsed(), 23s);
  EXPECT_EQ(killed.orders, to({kScheduler, kServer, kFirst, kSecond}, SIGKILL, Scope::kGroup));
  EXPECT_FALSE(supervisor_.over());
  end({{kSecond, kKilled}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "137 ERROR PeerLost role=worker rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSupervisor, WhatTheKernelDoesNotEndIsNotWaitedForForEver) {
  run_all();
  end({{kFirst, kStatus3}});
  wait();
  wait();
  EXPECT_EQ(wait().notes, std::vector<std::string>{
                              "warning: the kernel does not end scheduler, server 0, worker 1"});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 3);
}

TEST_F(LaunchSupervisor, OfFailuresSeenTogetherASignalIsTheCause) {
  run_all();
  end({{kFirst, kStatus3}, {kServer, kKilled}, {kSecond, kFine}});
  end({{kScheduler, kFine}});
  EXPECT_EQ(verdict(),
            "137 ERROR ServerLost role=server rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSupervisor, ASignalSeenAMomentLaterIsStillTheCause) {
  run_all();
  end({{kFirst, kStatus3}});
  now_ += 200ms;
  end({{kScheduler, kKilled}});
  now_ += 5s;
  end({{kSecond, kKilled}, {kServer, kStatus3}});
  EXPECT_EQ(verdict().substr(0, 22), "137 ERROR SchedulerLos");
}

TEST_F(LaunchSupervisor, OfStatusesSeenTogetherAWorkersIsTheCause) {
  run_all();
  end({{kScheduler, {false, 1}}, {kServer, {false, 1}}, {kSecond, kStatus3}, {kFirst, kFine}});
  EXPECT_EQ(verdict(),
            "3 ERROR PeerLost role=worker rank=1 peer=- op=run cause=exited with status 3");
}

TEST_F(LaunchSupervisor, WhoSaysThatItOnlyFollowedIsNotTheCauseHoweverLateTheOtherEnds) {
  run_all();
  end({{kServer, {false, kExitOfLoss}}});
  now_ += 2s;
  end({{kSecond, kStatus3}, {kFirst, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(verdict().substr(0, 18), "3 ERROR PeerLost r");
}

TEST_F(LaunchSupervisor, ALostSchedulerIsNamed) {
  run_all();
  end({{kScheduler, kKilled}});
  end({{kFirst, {false, 1}}, {kSecond, {false, 1}}, {kServer, {false, 1}}});
  EXPECT_EQ(verdict(),
            "137 ERROR SchedulerLost role=scheduler rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSupervisor, WorkersThatSurviveALostServerSucceed) {
  run_all();
  end({{kServer, kKilled}});
  end({{kFirst, kFine}});
  end({{kSecond, kFine}});
  end({{kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 0);
}

TEST_F(LaunchSupervisor, SigtermIsForwardedOnceToTheProcessesAlone) {
  run_all();
  EXPECT_EQ(signal(SIGTERM).orders,
            to({kScheduler, kServer, kFirst, kSecond}, SIGTERM, Scope::kProcess));
  now_ += 2s;
  EXPECT_TRUE(signal(SIGTERM).orders.empty());
  EXPECT_TRUE(signal(SIGHUP).orders.empty());
  now_ = start_;
  wait();
  EXPECT_EQ(elapsed(), 20s);
}

TEST_F(LaunchSupervisor, SigintGoesToGroupsAndASecondOneKills) {
  run_all();
  EXPECT_EQ(signal(SIGINT).orders,
            to({kScheduler, kServer, kFirst, kSecond}, SIGINT, Scope::kGroup));
  EXPECT_TRUE(signal(SIGINT).orders.empty()) << "the same key, seen twice";
  now_ += 1s;
  EXPECT_EQ(signal(SIGINT).orders,
            to({kScheduler, kServer, kFirst, kSecond}, SIGKILL, Scope::kGroup));
}

TEST_F(LaunchSupervisor, AnInterruptedJobSaysSo) {
  run_all();
  signal(SIGTERM);
  end({{kServer, kTerminated}});
  end({{kFirst, kTerminated}});
  end({{kSecond, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(verdict(),
            "143 ERROR Interrupted role=worker rank=0 peer=- op=run cause=killed by SIGTERM after "
            "the launcher was sent SIGTERM");
}

TEST_F(LaunchSupervisor, WorkersThatFinishAfterTheNoticeSucceed) {
  run_all();
  signal(SIGTERM);
  end({{kServer, kTerminated}, {kFirst, kFine}});
  end({{kSecond, kFine}, {kScheduler, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 0);
}

TEST_F(LaunchSupervisor, AnInterruptDoesNotHideAnEarlierFailure) {
  run_all();
  end({{kFirst, kStatus3}});
  EXPECT_EQ(signal(SIGTERM).orders.size(), 4u);
  end({{kSecond, kTerminated}, {kServer, kTerminated}, {kScheduler, kTerminated}});
  EXPECT_EQ(supervisor_.verdict().exit_status, 3);
  EXPECT_EQ(supervisor_.verdict().error.code(), Code::kPeerLost);
}

// A wrapper dies of the notice; what it wrapped gets the notice then, and its time to end.
TEST_F(LaunchSupervisor, WhatAWrapperLeavesIsToldAndWaitedFor) {
  run_all();
  signal(SIGTERM);
  EXPECT_EQ(end({{kFirst, kTerminated}}, 1).orders, to({kFirst}, SIGTERM, Scope::kGroup));
  end({{kSecond, kFine}, {kServer, kFine}, {kScheduler, kFine}}, 1);
  EXPECT_FALSE(supervisor_.over());
  end({}, 0);
  EXPECT_TRUE(supervisor_.over());
}

TEST_F(LaunchSupervisor, WhatAProgramLeavesByItsOwnDecisionIsNotWaitedFor) {
  run_all();
  signal(SIGTERM);
  EXPECT_TRUE(end({{kFirst, kFine}, {kSecond, kStatus3}}, 2).orders.empty());
  end({{kServer, kFine}, {kScheduler, kFine}}, 2);
  EXPECT_TRUE(supervisor_.over());
}

TEST_F(LaunchSupervisor, OrphansDoNotDelayTheEndOfASuccessfulJob) {
  run_all();
  end({{kFirst, kFine}, {kSecond, kFine}, {kServer, kFine}, {kScheduler, kFine}}, 2);
  EXPECT_TRUE(supervisor_.over());
}

TEST_F(LaunchSupervisor, ASchedulerThatEndsBeforeItListensIsAFailure) {
  supervisor_.on_spawned(kScheduler);
  end({{kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(
      verdict(),
      "1 ERROR SchedulerLost role=scheduler rank=0 peer=- op=start cause=exited with status 0 "
      "before it said where it listens");
}

TEST_F(LaunchSupervisor, ASilentSchedulerIsGivenUp) {
  supervisor_.on_spawned(kScheduler);
  EXPECT_EQ(wait().orders, to({kScheduler}, SIGTERM, Scope::kProcess));
  EXPECT_EQ(elapsed(), 60s);
  end({{kScheduler, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(
      verdict(),
      "1 ERROR RendezvousTimeout role=scheduler rank=0 peer=- op=start cause=did not say where "
      "it listens within 60 s");
}

TEST_F(LaunchSupervisor, ASchedulerThatTalksNonsenseIsGivenUp) {
  supervisor_.on_spawned(kScheduler);
  EXPECT_EQ(supervisor_.on_never_ready({Code::kMalformed, "said 'x'"}, now_).orders.size(), 1u);
  EXPECT_FALSE(supervisor_.may_start_others());
  end({{kScheduler, kTerminated}});
  EXPECT_EQ(verdict(), "1 ERROR Malformed role=scheduler rank=0 peer=- op=start cause=said 'x'");
}

TEST_F(LaunchSupervisor, AWorkerThatCannotBeRunEndsAllAtOnce) {
  supervisor_.on_spawned(kScheduler);
  supervisor_.on_ready();
  supervisor_.on_spawned(kServer);
  const Reaction reaction =
      supervisor_.on_refused(kFirst, 127, {Code::kInvalidArgument, "cannot execute 'x'"}, now_);
  EXPECT_EQ(reaction.orders, to({kScheduler, kServer}, SIGTERM, Scope::kProcess));
  end({{kScheduler, kTerminated}, {kServer, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(
      verdict(),
      "127 ERROR InvalidArgument role=worker rank=0 peer=- op=start cause=cannot execute 'x'");
}

TEST_F(LaunchSupervisor, ASchedulerThatCannotBeRunIsTheEnd) {
  supervisor_.on_refused(kScheduler, 127, {Code::kInvalidArgument, "cannot"}, now_);
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 127);
}

TEST_F(LaunchSupervisor, AnInterruptBeforeTheWorkersStartIsNoSuccess) {
  supervisor_.on_spawned(kScheduler);
  signal(SIGINT);
  supervisor_.on_ready();
  EXPECT_FALSE(supervisor_.may_start_others());
  end({{kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.verdict().exit_status, 130);
  EXPECT_EQ(supervisor_.verdict().error.code(), Code::kInterrupted);
}

}  // namespace
}  // namespace stretto::launch
