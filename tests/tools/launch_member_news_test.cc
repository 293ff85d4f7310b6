// SPDX-License-Identifier: Apache-2.0
// Reports about members that end after a normal leave from an elastic job, in virtual time.
#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class MemberNewsTest : public SupervisorFixture {
 protected:
  MemberNewsTest() : SupervisorFixture(GoingOn::Sizing::kElastic, 2) {}

  Reaction leaves(Rank worker) { return note_left(supervisor_, worker, now_); }
  int status() const { return supervisor_.outcome().verdict.exit_status; }
};

TEST_F(MemberNewsTest, LeaverMayBeKilledWhileOthersWork) {
  run_all();
  EXPECT_TRUE(leaves(0).notes.empty());
  const Reaction ended = end({{kFirstWorker, kKilled}});
  EXPECT_EQ(ended.notes, std::vector<std::string>{"warning: worker 0 killed by SIGKILL after it "
                                                  "had left in order; the job goes on"});
  EXPECT_TRUE(ended.restarts.empty()) << "it is not lost, so no worker replaces it";
  EXPECT_FALSE(supervisor_.deadline());
  EXPECT_TRUE(end({{kSecondWorker, kFine}}).notes.empty()) << "the job has lost no worker";
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, NewsOfLeavingMayFollowTheEnd) {
  run_all();
  EXPECT_TRUE(end({{kFirstWorker, kStatus3}}).notes.empty());
  EXPECT_EQ(leaves(0).notes,
            std::vector<std::string>{"warning: worker 0 exited with status 3 after "
                                     "it had left in order; the job goes on"});
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, LeaverMayFailAfterTheScheduler) {
  run_all();
  leaves(0);
  end({{kServer, kFine}, {kScheduler, kFine}});
  EXPECT_TRUE(end({{kFirstWorker, kStatus3}}).orders.empty());
  end({{kSecondWorker, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

// A scheduler exits with 0 only after each worker has left, even if the launcher has not read so.
TEST_F(MemberNewsTest, WorkerOfDoneJobMayFailUnannounced) {
  run_all();
  end({{kServer, kFine}, {kScheduler, kFine}});
  end({{kFirstWorker, kKilled}});
  end({{kSecondWorker, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, TooFewWorkersThatEndWellFailTheJob) {
  run_all();
  leaves(0);
  leaves(1);
  end({{kServer, kFine}, {kScheduler, kFine}});
  end({{kFirstWorker, kKilled}});
  end({{kSecondWorker, kStatus3}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 3) << "worker 0 could be spared, and worker 1 could not";
}

TEST_F(MemberNewsTest, LeaverIsBlamedIfNoWorkerEndsWell) {
  run_all();
  leaves(0);
  EXPECT_EQ(end({{kFirstWorker, kStatus3}}).notes.size(), 1U) << "worker 1 may yet end well";
  end({{kSecondWorker, kKilled}});
  supervisor_.on_loss_news(kSecondWorker, false, now_);
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 3);
}

TEST_F(MemberNewsTest, LateReplacementDoesNotExcuseALeaver) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(4);
  leaves(1);
  end({{kServer, kFine}, {kScheduler, kFine}});
  end({{kSecondWorker, kStatus3}});
  end({{4, kStatus3}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 3);
}

TEST_F(MemberNewsTest, GuestThatEndsWellExcusesALeaver) {
  run_all();
  supervisor_.on_guests(1, now_);
  leaves(0);
  end({{kFirstWorker, kStatus3}});
  end({{kSecondWorker, kKilled}});
  supervisor_.on_loss_news(kSecondWorker, false, now_);
  supervisor_.on_guests(0, now_);
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, HostOfLeaverMayBeLost) {
  run_all();
  leaves(0);
  const std::vector<std::size_t> gone{kFirstWorker};
  const Reaction lost = supervisor_.on_host_lost(gone, {Code::kNetwork, "b is lost"}, now_, now_);
  EXPECT_TRUE(lost.orders.empty());
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

// ---- workers that end before all have joined

TEST_F(MemberNewsTest, WorkerIsRunAgainBeforeAllHaveJoined) {
  start_all();
  gather(JobFormation::kAwaited);
  EXPECT_TRUE(end({{kFirstWorker, kKilled}}).notes.empty());
  const Reaction again = note_missed(supervisor_, 0, now_);
  EXPECT_EQ(again.restarts, (std::vector<Restart>{{kFirstWorker, kFirstWorker}}));
  EXPECT_EQ(again.notes,
            std::vector<std::string>{"worker 0 killed by SIGKILL before all workers had joined; "
                                     "another is started in its place"});
  supervisor_.on_spawned(kFirstWorker);
  EXPECT_FALSE(supervisor_.deadline());
  gather(JobFormation::kComplete);
  // One of two restarts is left.
  end({{kFirstWorker, kKilled}});
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts,
            (std::vector<Restart>{{4, kFirstWorker}}));
  supervisor_.on_spawned(4);
  end({{kSecondWorker, kKilled}});
  EXPECT_TRUE(supervisor_.on_loss_news(kSecondWorker, false, now_).restarts.empty());
}

TEST_F(MemberNewsTest, FailureCountsOnceRestartsAreUsedUp) {
  start_all();
  for (int restart = 0; restart < 2; ++restart) {
    end({{kFirstWorker, kStatus3}});
    ASSERT_EQ(note_missed(supervisor_, 0, now_).restarts.size(), 1U);
    supervisor_.on_spawned(kFirstWorker);
  }
  const Reaction failed = end({{kFirstWorker, kStatus3}});
  ASSERT_EQ(failed.notes.size(), 1U);
  EXPECT_EQ(failed.notes[0],
            "worker 0 exited with status 3; the others have 1 s to end by themselves");
}

TEST_F(MemberNewsTest, NewsOfLossMayComeInsteadOfAPlace) {
  start_all();
  end({{kFirstWorker, kKilled}});
  gather(JobFormation::kComplete);  // All had joined; the launcher reads that late.
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts,
            (std::vector<Restart>{{4, kFirstWorker}}));
}

TEST_F(MemberNewsTest, SchedulerThatSaysNothingFailsTheJob) {
  start_all();
  end({{kFirstWorker, kKilled}});
  EXPECT_FALSE(wait().notes.empty());
  EXPECT_EQ(elapsed(), Limits().word);
  EXPECT_TRUE(note_missed(supervisor_, 0, now_).restarts.empty()) << "too late";
}

// ---- a silent host

TEST_F(MemberNewsTest, WorkerOnSilentHostStaysInTheJob) {
  run_all();
  const std::vector<std::size_t> there{kFirstWorker};
  const Reaction silent = supervisor_.on_host_lost(
      there, {Code::kTimeout, "nothing heard of the agent on b for 20 s"}, now_, now_);
  EXPECT_EQ(silent.notes, std::vector<std::string>{
                              "warning: nothing heard of the agent on b for 20 s; the job "
                              "goes on with worker 0 as long as the scheduler hears of each"});
  EXPECT_FALSE(supervisor_.deadline());
  end({{kSecondWorker, kFine}});
  EXPECT_FALSE(supervisor_.deadline()) << "the job is not done before worker 0 has left";
  leaves(0);
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, WorkerOfAwakenedHostIsWatchedAgain) {
  run_all();
  const std::vector<std::size_t> there{kFirstWorker};
  const std::vector<std::size_t> all{kServer, kFirstWorker};
  EXPECT_EQ(ended_with_host(all, {Code::kTimeout, "b is silent"}, supervisor_),
            std::vector<std::size_t>{kServer});
  EXPECT_EQ(ended_with_host(all, {Code::kNetwork, "b is lost"}, supervisor_), all);
  supervisor_.on_host_lost(there, {Code::kTimeout, "b is silent"}, now_, now_);
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), Limits().silence);
  EXPECT_EQ(watch_again(supervisor_, there, "b").notes,
            std::vector<std::string>{"the agent on b is heard again; it runs worker 0"});
  EXPECT_TRUE(supervisor_.evidence().is_alive(kFirstWorker));
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 0);
}

TEST_F(MemberNewsTest, HostTakenAwayGivesNoNotes) {
  run_all();
  const std::vector<std::size_t> there{kFirstWorker};
  const Status why(Code::kInterrupted, "b is taken away");
  EXPECT_TRUE(supervisor_.on_host_lost(there, why, now_, now_).notes.empty());
}

TEST_F(MemberNewsTest, LostWorkerOfSilentHostIsReplaced) {
  run_all();
  const std::vector<std::size_t> there{kFirstWorker};
  supervisor_.on_host_lost(there, {Code::kTimeout, "b is silent"}, now_, now_);
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts,
            (std::vector<Restart>{{4, kFirstWorker}}));
}

TEST_F(MemberNewsTest, SilentHostOfServerFailsTheJob) {
  run_all();
  const std::vector<std::size_t> there{kServer, kFirstWorker};
  supervisor_.on_host_lost(there, {Code::kTimeout, "b is silent"}, now_, now_);
  end({{kSecondWorker, kStatus3}, {kScheduler, {false, 69}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(status(), 1);
}

class MemberNewsFixedTest : public SupervisorFixture {};

TEST_F(MemberNewsFixedTest, EachWorkerOfFixedJobMustEndWell) {
  run_all();
  note_left(supervisor_, 0, now_);
  end({{kFirstWorker, kStatus3}});
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 3);
}

}  // namespace
}  // namespace stretto::launch::supervised
