// SPDX-License-Identifier: Apache-2.0
// The phases of a launch as a table: state, action, and next phase.
#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

#include "tools/launch/supervision/lifecycle.h"

namespace stretto::launch {
namespace {

using Facts = Lifecycle::Facts;
using Phase = Lifecycle::Phase;
using Step = Lifecycle::Step;

constexpr Time kStart{100s};
constexpr Facts kWell;
constexpr Facts kFailed{.failed = true};
constexpr Facts kDone{.workers_succeeded = true};
constexpr Facts kEnded{.all_ended = true};

class LaunchLifecycle : public testing::Test {
 protected:
  void run() {
    lifecycle_.on_ready();
    lifecycle_.on_gathered();
    EXPECT_EQ(lifecycle_.phase(), Phase::kRunning);
  }
  void expect(const Facts& facts, Time now, Step step, Phase phase) {
    EXPECT_EQ(lifecycle_.step(facts, now), step);
    EXPECT_EQ(lifecycle_.phase(), phase);
  }

  const Limits limits_{};
  Lifecycle lifecycle_{limits_, kStart};
};

TEST_F(LaunchLifecycle, EndsWithItsLastProcess) {
  run();
  expect(kWell, kStart, Step::kNone, Phase::kRunning);
  expect(kDone, kStart, Step::kNone, Phase::kDraining);
  EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.drain);
  expect(kEnded, kStart + 1s, Step::kNone, Phase::kOver);
  EXPECT_FALSE(lifecycle_.stop_signal());
}

TEST_F(LaunchLifecycle, AFailureLeavesTimeToSettleThenToStopThenKills) {
  run();
  Time now = kStart + 60s;
  expect(kFailed, now, Step::kNone, Phase::kSettling);
  expect(kFailed, now + limits_.settle - 1ns, Step::kNone, Phase::kSettling);
  now += limits_.settle;
  expect(kFailed, now, Step::kStop, Phase::kStopping);
  EXPECT_EQ(lifecycle_.stop_signal(), SIGTERM);
  expect(kFailed, now + limits_.grace - 1ns, Step::kNone, Phase::kStopping);
  now += limits_.grace;
  expect(kFailed, now, Step::kKill, Phase::kKilling);
  expect(kFailed, now + limits_.reap - 1ns, Step::kNone, Phase::kKilling);
  expect(kFailed, now + limits_.reap, Step::kAbandon, Phase::kOver);
  expect(kFailed, now + limits_.reap, Step::kNone, Phase::kOver);
}

TEST_F(LaunchLifecycle, AJobThatNeverCameTogetherIsGivenLess) {
  lifecycle_.on_ready();
  expect(kFailed, kStart, Step::kNone, Phase::kSettling);
  EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.apart);
  lifecycle_.on_gathered();  // The job had formed; the report is late.
  EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.settle);
}

TEST_F(LaunchLifecycle, StopsAtOnceIfJobNeverFormed) {
  run();
  expect({.failed = true, .hopeless = true}, kStart, Step::kStop, Phase::kStopping);
}

TEST_F(LaunchLifecycle, BeforeTheSchedulerListensAnyFailureStops) {
  expect(kWell, kStart + limits_.start, Step::kNone, Phase::kStarting);
  EXPECT_TRUE(lifecycle_.late(kStart + limits_.start));
  EXPECT_FALSE(lifecycle_.late(kStart + limits_.start - 1ns));
  expect(kFailed, kStart, Step::kStop, Phase::kStopping);
  lifecycle_.on_ready();  // Too late.
  EXPECT_EQ(lifecycle_.phase(), Phase::kStopping);
}

TEST_F(LaunchLifecycle, ASignalStopsEachPhase) {
  for (const Facts& facts : {kWell, kFailed, kDone}) {
    Lifecycle lifecycle(limits_, kStart);
    lifecycle.on_ready();
    EXPECT_EQ(lifecycle.step(facts, kStart), Step::kNone);
    lifecycle.on_signal(SIGHUP, kStart);
    EXPECT_EQ(lifecycle.step(facts, kStart), Step::kStop);
    EXPECT_EQ(lifecycle.stop_signal(), SIGHUP);
  }
}

TEST_F(LaunchLifecycle, OnlyALaterInterruptIsASecondOne) {
  run();
  lifecycle_.on_signal(SIGINT, kStart);
  expect(kWell, kStart, Step::kStop, Phase::kStopping);
  lifecycle_.on_signal(SIGINT, kStart + 1s - 1ns);
  expect(kWell, kStart + 1s, Step::kNone, Phase::kStopping);
  lifecycle_.on_signal(SIGHUP, kStart + 5s);
  expect(kWell, kStart + 5s, Step::kNone, Phase::kStopping);
  lifecycle_.on_signal(SIGINT, kStart + 6s);
  expect(kWell, kStart + 6s, Step::kKill, Phase::kKilling);
}

TEST_F(LaunchLifecycle, SecondSigtermKillsAtOnce) {
  run();
  lifecycle_.on_signal(SIGTERM, kStart);
  expect(kWell, kStart, Step::kStop, Phase::kStopping);
  lifecycle_.on_signal(SIGTERM, kStart + 1s - 1ns);
  expect(kWell, kStart + 1s, Step::kNone, Phase::kStopping);
  lifecycle_.on_signal(SIGTERM, kStart + 2s);
  expect(kWell, kStart + 2s, Step::kKill, Phase::kKilling);
}

TEST_F(LaunchLifecycle, SecondSignalMayDifferFromTheFirst) {
  for (const int first : {SIGINT, SIGHUP, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) {
      Lifecycle lifecycle(limits_, kStart);
      lifecycle.on_ready();
      lifecycle.on_signal(first, kStart);
      EXPECT_EQ(lifecycle.step(kWell, kStart), Step::kStop);
      lifecycle.on_signal(second, kStart + 1s - 1ns);
      EXPECT_EQ(lifecycle.step(kWell, kStart + 1s), Step::kNone);
      lifecycle.on_signal(second, kStart + 1s);
      EXPECT_EQ(lifecycle.step(kWell, kStart + 1s), Step::kKill) << first << " " << second;
    }
  }
}

// A batch system notifies each host at a different time.
TEST_F(LaunchLifecycle, NoticesOfHostsAreNoSecondSignal) {
  run();
  lifecycle_.on_notice(SIGTERM);
  expect(kWell, kStart, Step::kStop, Phase::kStopping);
  lifecycle_.on_notice(SIGTERM);
  lifecycle_.on_signal(SIGTERM, kStart + 5s);
  expect(kWell, kStart + 5s, Step::kNone, Phase::kStopping);
}

class LifecycleLeaving : public LaunchLifecycle {
 protected:
  // The launcher gets SIGTERM, and forwards it to the workers only.
  void begin() {
    run();
    lifecycle_.on_signal(SIGTERM, kStart);
    expect(kMayLeave, kStart, Step::kStopWorkers, Phase::kLeaving);
    EXPECT_EQ(lifecycle_.stop_signal(), SIGTERM);
    EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.grace);
  }

  static constexpr Facts kMayLeave{.may_leave = true};
  static constexpr Facts kLeft{.may_leave = true, .workers_ended = true};
};

TEST_F(LifecycleLeaving, JobEndsByItselfAfterItsWorkers) {
  begin();
  expect(kMayLeave, kStart + 1s, Step::kNone, Phase::kLeaving);
  expect(kLeft, kStart + 2s, Step::kNone, Phase::kLeaving);
  expect({.all_ended = true, .workers_ended = true}, kStart + 3s, Step::kNone, Phase::kOver);
}

TEST_F(LifecycleLeaving, ServersAreStoppedSoonAfterWorkers) {
  begin();
  expect(kLeft, kStart + 2s, Step::kNone, Phase::kLeaving);
  expect(kLeft, kStart + 2s + limits_.settle - 1ns, Step::kNone, Phase::kLeaving);
  expect(kLeft, kStart + 2s + limits_.settle, Step::kStop, Phase::kStopping);
  EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.grace);
}

TEST_F(LifecycleLeaving, TotalStopTimeIsBounded) {
  begin();
  expect(kMayLeave, kStart + limits_.grace, Step::kStop, Phase::kStopping);
  expect(kMayLeave, kStart + limits_.grace + 5s, Step::kKill, Phase::kKilling);
}

TEST_F(LifecycleLeaving, SecondSigtermKillsWorkersToo) {
  begin();
  lifecycle_.on_signal(SIGTERM, kStart + 1s);
  expect(kMayLeave, kStart + 1s, Step::kKill, Phase::kKilling);
}

TEST_F(LifecycleLeaving, OrphansOfWorkersCountAsWorkers) {
  begin();
  Facts orphaned = kLeft;
  orphaned.orphans_awaited = true;
  expect(orphaned, kStart + 10s, Step::kNone, Phase::kLeaving);
  EXPECT_EQ(lifecycle_.deadline(), kStart + limits_.grace);
}

TEST_F(LifecycleLeaving, OtherSignalsStopAllAtOnce) {
  for (const int signal : {SIGINT, SIGHUP}) {
    Lifecycle lifecycle(limits_, kStart);
    lifecycle.on_ready();
    lifecycle.on_signal(signal, kStart);
    EXPECT_EQ(lifecycle.step(kMayLeave, kStart), Step::kStop);
  }
}

TEST_F(LaunchLifecycle, OrphansThatWereToldToEndAreWaitedFor) {
  run();
  lifecycle_.on_signal(SIGTERM, kStart);
  expect(kWell, kStart, Step::kStop, Phase::kStopping);
  expect({.all_ended = true, .orphans_awaited = true}, kStart + 1s, Step::kNone, Phase::kStopping);
  expect(kEnded, kStart + 2s, Step::kNone, Phase::kOver);
}

}  // namespace
}  // namespace stretto::launch
