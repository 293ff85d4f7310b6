// SPDX-License-Identifier: Apache-2.0
// An elastic job continues without lost workers only on a notification from its scheduler; in
// virtual time.
#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class LaunchGoingOn : public SupervisorFixture {
 protected:
  LaunchGoingOn() : SupervisorFixture(GoingOn::Sizing::kElastic) {}

  Reaction goes_on_without(std::size_t member) {
    return supervisor_.on_loss_news(member, false, now_);
  }
  void end_others() {
    end({{kSecondWorker, kFine}});
    end({{kServer, kFine}, {kScheduler, kFine}});
    ASSERT_TRUE(supervisor_.over());
  }
};

TEST_F(LaunchGoingOn, AKilledWorkerIsForgivenOnceTheSchedulerSaysSo) {
  run_all();
  const Reaction ended = end({{kFirstWorker, kKilled}});
  EXPECT_TRUE(ended.notes.empty());
  // One of its remaining processes may be the member.
  EXPECT_EQ(ended.orders, to({kFirstWorker}, SIGKILL, Scope::kGroup));
  now_ += 5ms;
  EXPECT_EQ(goes_on_without(kFirstWorker).notes,
            std::vector<std::string>{"worker 0 killed by SIGKILL; the job goes on without it"});
  EXPECT_FALSE(supervisor_.deadline());
  now_ += 100s;
  EXPECT_EQ(end({{kSecondWorker, kFine}}).notes,
            std::vector<std::string>{"the job was done without a worker that it had lost: worker 0 "
                                     "(killed by SIGKILL)"});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, TheWordMayComeBeforeTheEnd) {
  run_all();
  goes_on_without(kFirstWorker);
  EXPECT_TRUE(end({{kFirstWorker, kStatus3}}).notes.empty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, WithoutThatWordAFailureEndsTheJob) {
  run_all();
  end({{kFirstWorker, kKilled}});
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), Limits().word);
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_EQ(late.notes[0], "worker 0 killed by SIGKILL; the others have 3 s to end by themselves");
}

// While the scheduler itself would not be lost.
TEST_F(LaunchGoingOn, ASchedulerMayStandStillBeforeItSaysSo) {
  run_all();
  end({{kFirstWorker, kKilled}});
  now_ += JobSettings().dead_after;
  EXPECT_EQ(goes_on_without(kFirstWorker).notes.size(), 1U);
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, ASchedulerThatEndsSaysNothingMore) {
  run_all();
  end({{kFirstWorker, kKilled}});
  EXPECT_FALSE(end({{kScheduler, {false, 69}}}).notes.empty());
  end({{kSecondWorker, {false, 1}}, {kServer, {false, 69}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "137 ERROR PeerLost role=worker rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchGoingOn, KillsLostWorkerThatDoesNotReconnect) {
  run_all();
  EXPECT_EQ(goes_on_without(kFirstWorker).notes,
            std::vector<std::string>{"worker 0 is lost; the job goes on without it"});
  EXPECT_EQ(wait().orders, to({kFirstWorker}, SIGKILL, Scope::kGroup));
  EXPECT_EQ(elapsed(), Limits().again);
  EXPECT_TRUE(end({{kFirstWorker, kKilled}}).notes.empty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, AndWhenTheJobIsDone) {
  run_all();
  goes_on_without(kFirstWorker);
  end({{kSecondWorker, kFine}});
  const Reaction done = end({{kServer, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(done.orders, to({kFirstWorker}, SIGKILL, Scope::kGroup));
  end({{kFirstWorker, kKilled}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, OneThatHasComeAgainIsAsOthersAre) {
  run_all();
  goes_on_without(kFirstWorker);
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, true, now_).notes,
            std::vector<std::string>{"worker 0 is in the job again"});
  EXPECT_FALSE(supervisor_.deadline()) << "it is not waited for any more";
  EXPECT_TRUE(supervisor_.on_loss_news(kFirstWorker, true, now_).notes.empty());
  end({{kFirstWorker, kStatus3}});
  EXPECT_EQ(goes_on_without(kFirstWorker).notes.size(), 1U) << "it may be lost again";
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, ReconnectedWorkerFailureFailsJob) {
  run_all();
  goes_on_without(kFirstWorker);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  end({{kFirstWorker, kStatus3}});
  wait();
  end({{kSecondWorker, {false, 1}}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 3);
}

TEST_F(LaunchGoingOn, JobSucceedsBeforeReconnectingWorkerIsIn) {
  run_all();
  goes_on_without(kFirstWorker);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  end({{kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  end({{kFirstWorker, kStatus3}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, AndThatMayBeSeenLater) {
  run_all();
  goes_on_without(kFirstWorker);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  end({{kSecondWorker, kFine}});
  end({{kFirstWorker, kStatus3}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, EndedWorkerDoesNotReconnect) {
  run_all();
  end({{kFirstWorker, kKilled}});
  goes_on_without(kFirstWorker);
  EXPECT_TRUE(supervisor_.on_loss_news(kFirstWorker, true, now_).notes.empty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGoingOn, AServerIsNotForgiven) {
  run_all();
  EXPECT_FALSE(end({{kServer, kKilled}}).notes.empty());
}

// ---- external workers

class LaunchGuests : public LaunchGoingOn {
 protected:
  Reaction guests(std::uint32_t count) { return supervisor_.on_guests(count, now_); }
  // All workers that this launcher started, one after another.
  void lose_all() {
    for (const std::size_t member : {kFirstWorker, kSecondWorker}) {
      end({{member, kKilled}});
      goes_on_without(member);
    }
  }
};

TEST_F(LaunchGuests, TheJobLastsUntilTheLastOfThemHasLeft) {
  run_all();
  guests(1);
  lose_all();
  for (int second = 0; second < 100; ++second) {
    now_ += 1s;
    const Reaction none = guests(1);
    EXPECT_TRUE(none.orders.empty() && none.notes.empty());
  }
  EXPECT_EQ(guests(0).notes.size(), 1U) << "the job was done without two that it had lost";
  EXPECT_TRUE(end({{kServer, kFine}, {kScheduler, kFine}}).orders.empty());
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchGuests, SoItDoesWhereThoseFromHereHaveLeftInOrder) {
  run_all();
  guests(2);
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  now_ += 1s;
  EXPECT_TRUE(guests(2).orders.empty());
  now_ += 1s;
  guests(0);
  EXPECT_EQ(wait().orders.size(), 4U) << "servers may drain for a while, and are stopped then";
}

TEST_F(LaunchGuests, TheirFailureIsTheJobs) {
  run_all();
  guests(1);
  lose_all();
  const Reaction failed = end({{kScheduler, {false, 69}}});
  EXPECT_EQ(failed.notes,
            std::vector<std::string>{
                "scheduler exited with status 69; the others have 3 s to end by themselves"});
  end({{kServer, {false, 69}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "69 ERROR SchedulerLost role=scheduler rank=0 peer=- op=run cause=exited with status "
            "69");
}

TEST_F(LaunchGuests, ASchedulerThatSaysNoMoreOfThemIsLost) {
  run_all();
  guests(1);
  lose_all();
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), Limits().word);
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_EQ(late.notes[0],
            "scheduler is lost: did not say for 6 s that the workers that have joined the job are "
            "in; the others have 3 s to end by themselves");
}

}  // namespace
}  // namespace stretto::launch::supervised
