// SPDX-License-Identifier: Apache-2.0
// The rules of supervision, event by event, in virtual time.
#include "common/config/program.h"
#include "common/program_failed.h"
#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class LaunchSupervisor : public SupervisorFixture {};

TEST_F(LaunchSupervisor, ASuccessfulJobIsLeftAlone) {
  run_all();
  EXPECT_FALSE(supervisor_.deadline());
  EXPECT_TRUE(end({{kFirstWorker, kFine}}).orders.empty());
  EXPECT_TRUE(end({{kSecondWorker, kFine}}).orders.empty());
  EXPECT_TRUE(end({{kServer, kFine}, {kScheduler, kFine}}).notes.empty());
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
  EXPECT_TRUE(supervisor_.outcome().verdict.error.ok());
}

TEST_F(LaunchSupervisor, ServersThatStayAreEndedWithAWarning) {
  run_all();
  end({{kScheduler, kFine}});
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), 10s);
  EXPECT_EQ(late.orders, (std::vector<SignalOrder>{{kSecondWorker, SIGTERM, Scope::kGroup},
                                                   {kFirstWorker, SIGTERM, Scope::kGroup},
                                                   {kServer, SIGTERM, Scope::kProcess},
                                                   {kScheduler, SIGTERM, Scope::kGroup}}));
  ASSERT_FALSE(late.notes.empty());
  EXPECT_EQ(late.notes[0],
            "sent SIGTERM to server 0, still running 10 s after the last worker; SIGKILL follows "
            "after 20 s");
  end({{kServer, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, EndsServersSoonIfNoJobBegan) {
  start_all();
  end({{kFirstWorker, kFine}});
  end({{kSecondWorker, kFine}});
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), 1s);
  EXPECT_EQ(late.orders.size(), 4u);
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_EQ(late.notes[0],
            "sent SIGTERM to scheduler, server 0, as all workers have ended and no job began; "
            "SIGKILL follows after 20 s");
  end({{kServer, kTerminated}, {kScheduler, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, FailureBeforeFormationLeavesOneSecond) {
  start_all();
  const Reaction failed = end({{kSecondWorker, kStatus3}});
  ASSERT_EQ(failed.notes.size(), 1u);
  EXPECT_EQ(failed.notes[0],
            "worker 1 exited with status 3; the others have 1 s to end by themselves");
  EXPECT_EQ(wait().orders.size(), 4u);
  EXPECT_EQ(elapsed(), 1s);
}

TEST_F(LaunchSupervisor, ABeginThatIsToldAfterTheEndGivesItsTimeBack) {
  start_all();
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  gather(JobFormation::kComplete);
  wait();
  EXPECT_EQ(elapsed(), 10s);
}

TEST_F(LaunchSupervisor, ABeginThatIsToldAfterAFailureGivesItsTimeBack) {
  start_all();
  end({{kFirstWorker, kStatus3}});
  gather(JobFormation::kComplete);
  wait();
  EXPECT_EQ(elapsed(), 3s);
}

TEST_F(LaunchSupervisor, AServerThatFailsAfterTheWorkIsOnlyAWarning) {
  run_all();
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  EXPECT_EQ(end({{kServer, kStatus3}}).notes,
            std::vector<std::string>{"warning: server 0 exited with status 3"});
  end({{kScheduler, kFine}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, AFailedWorkerIsNamedAndOthersMaySettle) {
  run_all();
  EXPECT_TRUE(end({{kSecondWorker, kStatus3}}).orders.empty());
  now_ += 1ms;
  EXPECT_TRUE(end({{kFirstWorker, {false, 1}}}).orders.empty());
  EXPECT_TRUE(end({{kServer, {false, 1}}}).orders.empty());
  end({{kScheduler, {false, 1}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "3 ERROR ProgramFailed role=worker rank=1 peer=- op=run cause=exited with status 3");
}

TEST_F(LaunchSupervisor, ThoseThatDoNotSettleAreToldThenKilled) {
  run_all();
  end({{kFirstWorker, kKilled}});
  const Reaction told = wait();
  EXPECT_EQ(elapsed(), 3s);
  EXPECT_EQ(told.orders, (std::vector<SignalOrder>{{kSecondWorker, SIGTERM, Scope::kProcess},
                                                   {kFirstWorker, SIGTERM, Scope::kGroup},
                                                   {kServer, SIGTERM, Scope::kProcess},
                                                   {kScheduler, SIGTERM, Scope::kProcess}}));
  end({{kScheduler, kTerminated}, {kServer, kTerminated}});
  const Reaction killed = wait();
  EXPECT_EQ(elapsed(), 23s);
  EXPECT_EQ(killed.orders,
            to({kScheduler, kServer, kFirstWorker, kSecondWorker}, SIGKILL, Scope::kGroup));
  EXPECT_FALSE(supervisor_.over());
  end({{kSecondWorker, kKilled}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "137 ERROR PeerLost role=worker rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSupervisor, StopsWaitingForUnkillableProcesses) {
  run_all();
  end({{kFirstWorker, kStatus3}});
  wait();
  wait();
  EXPECT_EQ(wait().notes, std::vector<std::string>{
                              "warning: the kernel does not end scheduler, server 0, worker 1"});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 3);
}

TEST_F(LaunchSupervisor, OfFailuresSeenTogetherASignalIsTheCause) {
  run_all();
  end({{kFirstWorker, kStatus3}, {kServer, kKilled}, {kSecondWorker, kFine}});
  end({{kScheduler, kFine}});
  EXPECT_EQ(verdict(),
            "137 ERROR ServerLost role=server rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSupervisor, ASignalSeenAMomentLaterIsStillTheCause) {
  run_all();
  end({{kFirstWorker, kStatus3}});
  now_ += 200ms;
  end({{kScheduler, kKilled}});
  now_ += 5s;
  end({{kSecondWorker, kKilled}, {kServer, kStatus3}});
  EXPECT_EQ(verdict().substr(0, 22), "137 ERROR SchedulerLos");
}

TEST_F(LaunchSupervisor, WorkersThatSurviveALostServerSucceed) {
  run_all();
  end({{kServer, kKilled}});
  end({{kFirstWorker, kFine}});
  end({{kSecondWorker, kFine}});
  end({{kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, SigtermIsForwardedOnceToTheProcessesAlone) {
  run_all();
  EXPECT_EQ(signal(SIGTERM).orders,
            to({kSecondWorker, kFirstWorker, kServer, kScheduler}, SIGTERM, Scope::kProcess))
      << "servers that went first would make workers fail before they are told";
  now_ += 500ms;
  EXPECT_TRUE(signal(SIGTERM).orders.empty()) << "the same notice, sent twice";
  now_ += 2s;
  EXPECT_TRUE(signal(SIGHUP).orders.empty());
  now_ = start_;
  wait();
  EXPECT_EQ(elapsed(), 20s);
}

TEST_F(LaunchSupervisor, SecondSigtermKillsAll) {
  run_all();
  signal(SIGTERM);
  now_ += 1s;
  EXPECT_EQ(signal(SIGTERM).orders,
            to({kScheduler, kServer, kFirstWorker, kSecondWorker}, SIGKILL, Scope::kGroup));
}

TEST_F(LaunchSupervisor, SigintGoesToGroupsAndASecondOneKills) {
  run_all();
  EXPECT_EQ(signal(SIGINT).orders,
            to({kSecondWorker, kFirstWorker, kServer, kScheduler}, SIGINT, Scope::kGroup));
  EXPECT_TRUE(signal(SIGINT).orders.empty()) << "the same key, seen twice";
  now_ += 1s;
  EXPECT_EQ(signal(SIGINT).orders,
            to({kScheduler, kServer, kFirstWorker, kSecondWorker}, SIGKILL, Scope::kGroup));
}

TEST_F(LaunchSupervisor, AnInterruptedJobSaysSo) {
  run_all();
  signal(SIGTERM);
  end({{kServer, kTerminated}});
  end({{kFirstWorker, kTerminated}});
  end({{kSecondWorker, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(verdict(),
            "143 ERROR Interrupted role=worker rank=0 peer=- op=run cause=killed by SIGTERM after "
            "the launcher was sent SIGTERM");
}

TEST_F(LaunchSupervisor, WorkersThatFinishAfterTheNoticeSucceed) {
  run_all();
  signal(SIGTERM);
  end({{kServer, kTerminated}, {kFirstWorker, kFine}});
  end({{kSecondWorker, kFine}, {kScheduler, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, AnInterruptDoesNotHideAnEarlierFailure) {
  run_all();
  end({{kFirstWorker, kStatus3}});
  EXPECT_EQ(signal(SIGTERM).orders.size(), 4u);
  end({{kSecondWorker, kTerminated}, {kServer, kTerminated}, {kScheduler, kTerminated}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 3);
  EXPECT_EQ(supervisor_.outcome().verdict.error.code(), kProgramFailed);
}

TEST_F(LaunchSupervisor, ANoticeExplainsEndsThatAreSeenBeforeIt) {
  run_all();
  end({{kServer, {false, 1}}});
  EXPECT_EQ(supervisor_.on_notice(SIGTERM, now_).orders.size(), 4u);
  end({{kFirstWorker, kStatus3}, {kSecondWorker, kStatus3}, {kScheduler, kTerminated}});
  EXPECT_EQ(verdict(),
            "3 ERROR Interrupted role=worker rank=0 peer=- op=run cause=exited with "
            "status 3 after the launcher was sent SIGTERM");
}

TEST_F(LaunchSupervisor, ANoticeExplainsWorkersThatDiedOfIt) {
  run_all();
  end({{kFirstWorker, kTerminated}});
  supervisor_.on_notice(SIGTERM, now_);
  end({{kSecondWorker, kTerminated}, {kServer, kTerminated}, {kScheduler, kTerminated}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 143);
  EXPECT_EQ(supervisor_.outcome().verdict.error.code(), Code::kInterrupted);
}

TEST_F(LaunchSupervisor, NoticeDoesNotExplainEarlierFailure) {
  run_all();
  end({{kServer, {false, 1}}});
  now_ += 1s;
  supervisor_.on_notice(SIGTERM, now_);
  end({{kFirstWorker, kStatus3}, {kSecondWorker, kStatus3}, {kScheduler, kTerminated}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 1);
  EXPECT_EQ(supervisor_.outcome().verdict.error.code(), Code::kServerLost);
}

// A wrapper dies of the signal; its child then gets the signal and the usual time to end.
TEST_F(LaunchSupervisor, SignalsAndAwaitsWrapperOrphans) {
  run_all();
  signal(SIGTERM);
  EXPECT_EQ(end({{kFirstWorker, kTerminated}}, 1).orders,
            to({kFirstWorker}, SIGTERM, Scope::kGroup));
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}}, 1);
  EXPECT_FALSE(supervisor_.over());
  end({}, 0);
  EXPECT_TRUE(supervisor_.over());
}

TEST_F(LaunchSupervisor, DoesNotAwaitOrphansOfSelfEndedProgram) {
  run_all();
  signal(SIGTERM);
  EXPECT_TRUE(end({{kFirstWorker, kFine}, {kSecondWorker, kStatus3}}, 2).orders.empty());
  end({{kServer, kFine}, {kScheduler, kFine}}, 2);
  EXPECT_TRUE(supervisor_.over());
}

TEST_F(LaunchSupervisor, OrphansDoNotDelayTheEndOfASuccessfulJob) {
  run_all();
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}}, 2);
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
  EXPECT_FALSE(supervisor_.may_start());
  end({{kScheduler, kTerminated}});
  EXPECT_EQ(verdict(), "1 ERROR Malformed role=scheduler rank=0 peer=- op=start cause=said 'x'");
}

TEST_F(LaunchSupervisor, AWorkerThatCannotBeRunEndsAllAtOnce) {
  supervisor_.on_spawned(kScheduler);
  const std::vector<std::size_t> others{kServer, kFirstWorker, kSecondWorker};
  EXPECT_EQ(supervisor_.on_ready().starts, others);
  supervisor_.on_spawned(kServer);
  const Reaction reaction = supervisor_.on_refused(
      kFirstWorker, 127, {Code::kInvalidArgument, "cannot execute 'x'"}, now_);
  EXPECT_EQ(reaction.orders, to({kServer, kScheduler}, SIGTERM, Scope::kProcess));
  EXPECT_FALSE(supervisor_.may_start());  // Nor is the second worker started.
  end({{kScheduler, kTerminated}, {kServer, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(
      verdict(),
      "127 ERROR InvalidArgument role=worker rank=0 peer=- op=start cause=cannot execute 'x'");
}

TEST_F(LaunchSupervisor, ASchedulerThatCannotBeRunIsTheEnd) {
  supervisor_.on_refused(kScheduler, 127, {Code::kInvalidArgument, "cannot"}, now_);
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 127);
}

TEST_F(LaunchSupervisor, AnInterruptBeforeTheWorkersStartIsNoSuccess) {
  supervisor_.on_spawned(kScheduler);
  signal(SIGINT);
  supervisor_.on_ready();
  EXPECT_FALSE(supervisor_.may_start());
  end({{kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 130);
  EXPECT_EQ(supervisor_.outcome().verdict.error.code(), Code::kInterrupted);
}

TEST_F(LaunchSupervisor, KillsMemberLostToOthersAfterGracePeriod) {
  run_all();
  const std::string cause = "server 0 is lost: nothing heard of it for 5.1 s";
  const ErrorLine statement{Code::kServerLost, "server 0", cause};
  EXPECT_TRUE(supervisor_.on_statement(kFirstWorker, statement, now_).notes.empty());
  EXPECT_EQ(end({{kFirstWorker, {false, 1}}}).notes,
            std::vector<std::string>{"server 0 is lost: nothing heard of it for 5.1 s, says worker "
                                     "0; the others have 3 s to end by themselves"});
  end({{kSecondWorker, {false, 1}}});
  supervisor_.on_statement(kScheduler, statement, now_);
  EXPECT_TRUE(end({{kScheduler, {false, kExitOfLoss}}}).orders.empty()) << "it may end itself";
  const Reaction given_up = wait();
  EXPECT_EQ(elapsed(), 500ms);
  EXPECT_EQ(given_up.orders, to({kServer}, SIGKILL, Scope::kGroup));
  EXPECT_EQ(given_up.notes, std::vector<std::string>{"sent SIGKILL to server 0"});
  EXPECT_TRUE(supervisor_.on_time(now_).orders.empty()) << "once";
  end({{kServer, kKilled}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "1 ERROR ServerLost role=server rank=0 peer=- op=run cause=nothing heard of it for 5.1 "
            "s, say scheduler and worker 0");
}

TEST_F(LaunchSupervisor, NoteNamesLostMemberReporterAndTimeout) {
  run_all();
  supervisor_.on_statement(kScheduler, {Code::kServerLost, "server 0", "nothing heard of it"},
                           now_);
  EXPECT_EQ(end({{kScheduler, {false, kExitOfLoss}}}).notes,
            std::vector<std::string>{"server 0 is lost: nothing heard of it, says scheduler; the "
                                     "others have 3 s to end by themselves"});
  EXPECT_EQ(wait().notes, std::vector<std::string>{"sent SIGKILL to server 0"});
}

TEST_F(LaunchSupervisor, StatementAfterSignalCountsAsInterrupt) {
  run_all();
  signal(SIGTERM);
  supervisor_.on_statement(kFirstWorker, {Code::kServerLost, "server 0", "it has gone"}, now_);
  end({{kFirstWorker, {false, 1}}, {kServer, kTerminated}});
  end({{kSecondWorker, kFine}, {kScheduler, kTerminated}});
  EXPECT_EQ(supervisor_.outcome().verdict.error.code(), Code::kInterrupted);
  EXPECT_EQ(supervisor_.outcome().verdict.who, (JobMember{Role::kWorker, 0}));
}

TEST_F(LaunchSupervisor, SilenceLimitIsLongerWhileAllMembersRun) {
  run_all();
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), 20s);
  end({{kFirstWorker, kFine}});
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), 5s);
}

TEST_F(LaunchSupervisor, AHostThatIsLostIsTheCause) {
  run_all();
  const Status why(Code::kNetwork, "two is lost");
  // Its workers' connections end first, and so do members that depend on them.
  EXPECT_TRUE(end({{kServer, {false, kExitOfLoss}}}).orders.empty());
  supervisor_.on_host_lost(std::vector<std::size_t>{kSecondWorker}, why, now_, now_);
  end({{kFirstWorker, {false, 1}}});
  end({{kScheduler, {false, kExitOfLoss}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(), "1 ERROR Network role=worker rank=1 peer=- op=run cause=two is lost");
}

TEST_F(LaunchSupervisor, AHostIsTheCauseHoweverLateItIsKnownWhy) {
  run_all();
  const Time since = now_;
  end({{kFirstWorker, {false, 1}}});
  now_ += 2s;
  supervisor_.on_host_lost(std::vector<std::size_t>{kSecondWorker}, {Code::kNetwork, "two is lost"},
                           since, now_);
  end({{kServer, {false, kExitOfLoss}}});
  end({{kScheduler, {false, kExitOfLoss}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(), "1 ERROR Network role=worker rank=1 peer=- op=run cause=two is lost");
}

TEST_F(LaunchSupervisor, AHostThatHadNothingLeftIsNotMissed) {
  run_all();
  end({{kFirstWorker, kFine}});
  const Status why(Code::kNetwork, "one is lost");
  EXPECT_TRUE(supervisor_.on_host_lost(std::vector<std::size_t>{kFirstWorker}, why, now_, now_)
                  .orders.empty());
  end({{kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchSupervisor, AHostThatCannotBeReachedEndsTheStart) {
  const Status why(Code::kNetwork, "two cannot be reached");
  supervisor_.on_host_lost(std::vector<std::size_t>{kServer, kSecondWorker}, why, now_, now_);
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "1 ERROR Network role=server rank=0 peer=- op=start cause=two cannot be reached");
}

TEST_F(LaunchSupervisor, ARefusalMayComeAfterTheStart) {
  run_all();
  const Status why(Code::kInvalidArgument, "cannot execute 'x' on far");
  const Reaction reaction = supervisor_.on_refused(kFirstWorker, 127, why, now_);
  EXPECT_FALSE(reaction.orders.empty());
  end({{kScheduler, kTerminated}, {kServer, kTerminated}, {kSecondWorker, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "127 ERROR InvalidArgument role=worker rank=0 peer=- op=start cause=cannot execute 'x' "
            "on far");
}

}  // namespace
}  // namespace stretto::launch::supervised
