// SPDX-License-Identifier: Apache-2.0
// Spare workers of an elastic job, which replace lost ones, in virtual time.
#include "tests/tools/launch_supervisor_fixture.h"
#include "tools/launch/supervision/spare_workers.h"

namespace stretto::launch::supervised {
namespace {

class LaunchReplacing : public SupervisorFixture {
 protected:
  LaunchReplacing() : SupervisorFixture(GoingOn::Sizing::kElastic, 2) {}

  static constexpr std::size_t kFirstSpare = 4;
  static constexpr std::size_t kSecondSpare = 5;

  // Both workers are expelled but running; the first spare replaces the first of them.
  void lose_both() {
    supervisor_.on_loss_news(kFirstWorker, false, now_);
    supervisor_.on_spawned(kFirstSpare);
    supervisor_.on_loss_news(kSecondWorker, false, now_);
    supervisor_.on_spawned(kSecondSpare);
  }
};

TEST_F(LaunchReplacing, OneThatComesWhenTheJobIsDoneIsNotMissed) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  EXPECT_TRUE(end({{kFirstSpare, kStatus3}}).restarts.empty()) << "nor is another one started";
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

// A finished job does not wait for a worker that may never join.
TEST_F(LaunchReplacing, AFinishedJobEndsAReplacementThatHasNotJoined) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  end({{kSecondWorker, kFine}, {kServer, kFine}});
  EXPECT_FALSE(supervisor_.deadline()) << "the scheduler runs, so the replacement may still join";
  now_ += 20s;
  const Time done = now_;
  end({{kScheduler, kFine}});
  const Reaction late = wait();
  EXPECT_EQ(now_ - done, Limits().settle);
  EXPECT_EQ(late.orders, to({kFirstSpare}, SIGKILL, Scope::kGroup));
  ASSERT_FALSE(late.notes.empty());
  EXPECT_EQ(late.notes.front(), "sent SIGKILL to worker 2");
  end({{kFirstSpare, kKilled}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchReplacing, AReplacementThatHasJoinedMayWorkOnAfterTheJob) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  note_joined(supervisor_, 2);
  end({{kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  EXPECT_FALSE(supervisor_.deadline()) << "it saves, or evaluates, as long as it wants";
  end({{kFirstSpare, kStatus3}});
  ASSERT_TRUE(supervisor_.over());
}

TEST_F(LaunchReplacing, StartsSparePerLostWorkerUntilNoneIsLeft) {
  run_all();
  end({{kFirstWorker, kKilled}});
  const Reaction first = supervisor_.on_loss_news(kFirstWorker, false, now_);
  EXPECT_EQ(first.restarts, (std::vector<Restart>{{kFirstSpare, kFirstWorker}}));
  EXPECT_EQ(first.notes,
            std::vector<std::string>{"worker 0 killed by SIGKILL; the job goes on without it; "
                                     "worker 2 is started for it"});
  EXPECT_TRUE(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts.empty()) << "told twice";
  supervisor_.on_spawned(kFirstSpare);
  end({{kFirstSpare, kKilled}});
  const Reaction second = supervisor_.on_loss_news(kFirstSpare, false, now_);
  EXPECT_EQ(second.restarts, (std::vector<Restart>{{kSecondSpare, kFirstSpare}}));
  supervisor_.on_spawned(kSecondSpare);
  end({{kSecondSpare, kKilled}});
  EXPECT_TRUE(supervisor_.on_loss_news(kSecondSpare, false, now_).restarts.empty());
  end({{kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

// The scheduler would reject the replacement, and each rejection would use up a restart.
TEST_F(LaunchReplacing, WorkerThatReturnsEndsItsReplacement) {
  run_all();
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  const Reaction back = supervisor_.on_loss_news(kFirstWorker, true, now_);
  EXPECT_EQ(back.orders, to({kFirstSpare}, SIGKILL, Scope::kGroup));
  EXPECT_EQ(back.notes,
            (std::vector<std::string>{
                "worker 0 is in the job again",
                "sent SIGKILL to worker 2: it has not joined, and another worker has its place"}));
  const Reaction ended = end({{kFirstSpare, kKilled}});
  EXPECT_TRUE(ended.restarts.empty() && ended.notes.empty());
  EXPECT_FALSE(supervisor_.deadline());
  // The same spare is free for the next loss.
  now_ += 100s;
  const Reaction lost = supervisor_.on_loss_news(kFirstWorker, false, now_);
  EXPECT_EQ(lost.restarts, (std::vector<Restart>{{kFirstSpare, kFirstWorker}}));
  supervisor_.on_spawned(kFirstSpare);
  note_joined(supervisor_, 2);
  end({{kFirstWorker, kKilled}});
  end({{kFirstSpare, kFine}, {kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
  EXPECT_EQ(supervisor_.outcome().replaced, 1U) << "the ended replacement does not count";
}

TEST_F(LaunchReplacing, ReplacementThatHasJoinedStays) {
  run_all();
  lose_both();
  note_joined(supervisor_, 2);
  // Worker 2 has replaced worker 0 and joined, so worker 3 is not needed.
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, true, now_).orders,
            to({kSecondSpare}, SIGKILL, Scope::kGroup));
}

TEST_F(LaunchReplacing, ReplacementsStayWhileThereArePlaces) {
  run_all();
  lose_both();
  EXPECT_EQ(supervisor_.on_loss_news(kSecondWorker, true, now_).orders,
            to({kSecondSpare}, SIGKILL, Scope::kGroup));
  EXPECT_TRUE(supervisor_.evidence().is_alive(kFirstSpare));
}

TEST_F(LaunchReplacing, UnwatchedWorkerReturnsToItsPlace) {
  run_all();
  supervisor_.on_host_lost(std::vector<std::size_t>{kFirstWorker}, {Code::kTimeout, "b is silent"},
                           now_, now_);
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  const Reaction back = supervisor_.on_loss_news(kFirstWorker, true, now_);
  EXPECT_EQ(back.orders, to({kFirstSpare}, SIGKILL, Scope::kGroup));
  ASSERT_FALSE(back.notes.empty());
  EXPECT_EQ(back.notes.front(), "worker 0 is in the job again");
}

TEST_F(LaunchReplacing, UnwatchedWorkerKeepsItsPlace) {
  run_all();
  supervisor_.on_host_lost(std::vector<std::size_t>{kFirstWorker}, {Code::kTimeout, "b is silent"},
                           now_, now_);
  end({{kSecondWorker, kKilled}});
  supervisor_.on_loss_news(kSecondWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  EXPECT_EQ(supervisor_.on_guests(1, now_).orders, to({kFirstSpare}, SIGKILL, Scope::kGroup));
}

// ---- an unneeded replacement ends, and workers are lost meanwhile

TEST_F(LaunchReplacing, FreedSpareIsStartedForALossMeanwhile) {
  run_all();
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  end({{kFirstSpare, kKilled}});
  supervisor_.on_loss_news(kFirstSpare, false, now_);
  supervisor_.on_spawned(kSecondSpare);
  ASSERT_EQ(supervisor_.on_loss_news(kFirstWorker, true, now_).orders,
            to({kSecondSpare}, SIGKILL, Scope::kGroup));
  EXPECT_TRUE(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts.empty());
  const Reaction freed = end({{kSecondSpare, kKilled}});
  EXPECT_EQ(freed.restarts, (std::vector<Restart>{{kSecondSpare, kFirstWorker}}));
  EXPECT_EQ(freed.notes, std::vector<std::string>{"worker 3 is started for worker 0"});
}

TEST_F(LaunchReplacing, FreedSpareWaitsWhereThePlaceIsTaken) {
  run_all();
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  end({{kFirstSpare, kKilled}});
  supervisor_.on_loss_news(kFirstSpare, false, now_);
  supervisor_.on_spawned(kSecondSpare);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  EXPECT_TRUE(end({{kSecondSpare, kKilled}}).restarts.empty());
}

TEST_F(LaunchReplacing, HostOfAnUnneededSpareMayBeLost) {
  run_all();
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  const std::vector<std::size_t> gone{kFirstSpare};
  supervisor_.on_host_lost(gone, {Code::kNetwork, "b is lost"}, now_, now_);
  EXPECT_EQ(supervisor_.on_loss_news(kFirstWorker, false, now_).restarts,
            (std::vector<Restart>{{kFirstSpare, kFirstWorker}}));
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}, {kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchReplacing, HostOfAFreedSpareMayBeLost) {
  run_all();
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  supervisor_.on_loss_news(kFirstWorker, true, now_);
  end({{kFirstSpare, kKilled}});
  const std::vector<std::size_t> gone{kFirstSpare};
  EXPECT_TRUE(
      supervisor_.on_host_lost(gone, {Code::kNetwork, "b is lost"}, now_, now_).orders.empty());
  EXPECT_FALSE(supervisor_.evidence().failed());
}

TEST_F(LaunchReplacing, GuestInThePlaceEndsTheReplacement) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  EXPECT_EQ(supervisor_.on_guests(1, now_).orders, to({kFirstSpare}, SIGKILL, Scope::kGroup));
  EXPECT_TRUE(supervisor_.on_guests(1, now_).orders.empty()) << "it ends already";
}

TEST_F(LaunchReplacing, OneThatFailsBeforeItIsInEndsNothing) {
  run_all();
  end({{kFirstWorker, kKilled}});
  supervisor_.on_loss_news(kFirstWorker, false, now_);
  supervisor_.on_spawned(kFirstSpare);
  EXPECT_TRUE(end({{kFirstSpare, kStatus3}}).restarts.empty()) << "the scheduler may know of it";
  const Reaction late = wait();
  EXPECT_EQ(late.restarts, (std::vector<Restart>{{kSecondSpare, kFirstSpare}}));
  EXPECT_TRUE(late.orders.empty());
  supervisor_.on_spawned(kSecondSpare);
  EXPECT_TRUE(supervisor_.on_refused(kSecondSpare, 1, {Code::kResource, "no processes left"}, now_)
                  .orders.empty());
  wait();
  end({{kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

// The scheduler does not know a replacement that has not joined: both time limits expire together.
TEST_F(LaunchReplacing, EachLossInOneLookGetsItsOwnSpare) {
  std::vector<JobMember> members = {{Role::kScheduler, 0}, {Role::kServer, 0}};
  for (Rank worker = 0; worker < 7; ++worker) members.push_back({Role::kWorker, worker});
  Supervisor supervisor(members, limits_with(0), now_, sizing_, 4);
  supervisor.on_spawned(kScheduler);
  supervisor.on_ready();
  for (std::size_t member = 1; member <= 4; ++member) supervisor.on_spawned(member);
  supervisor.on_gathering(JobFormation::kComplete, now_);
  for (std::size_t member = 2; member <= 3; ++member) {
    supervisor.on_loss_news(member, false, now_);
    supervisor.on_spawned(member + 3);
  }
  supervisor.on_ended(std::vector<Ended>{{5, kStatus3}, {6, kStatus3}}, 0, now_);
  ASSERT_TRUE(supervisor.deadline().has_value());
  const Reaction late = supervisor.on_time(now_ + Limits().word);
  EXPECT_EQ(late.restarts, (std::vector<Restart>{{7, 5}, {8, 6}}));
}

TEST_F(LaunchReplacing, UnusedSparesAreNotMissed) {
  run_all();
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

}  // namespace
}  // namespace stretto::launch::supervised
