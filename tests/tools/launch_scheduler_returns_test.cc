// SPDX-License-Identifier: Apache-2.0
// A crashed scheduler of a job of fixed size is restarted, in virtual time.
#include <gmock/gmock.h>

#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class LaunchSchedulerReturns : public SupervisorFixture {
 protected:
  LaunchSchedulerReturns() : SupervisorFixture(GoingOn::Sizing::kServersReturn, 0, 0, 2) {}

  void run_again(const Reaction& reaction, std::size_t member) {
    ASSERT_EQ(reaction.restarts, (std::vector<Restart>{{member, member}}));
    supervisor_.on_spawned(member);
  }
  void end_well() {
    end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
    end({{kServer, kFine}, {kScheduler, kFine}});
    ASSERT_TRUE(supervisor_.over());
    EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
  }
};

TEST_F(LaunchSchedulerReturns, OneThatWasKilledIsRunAgainAtOnce) {
  run_all();
  const Reaction ended = end({{kScheduler, kKilled}});
  ASSERT_EQ(ended.notes.size(), 1U);
  EXPECT_EQ(ended.notes[0], "scheduler killed by SIGKILL; another is started in its place");
  run_again(ended, kScheduler);
  EXPECT_FALSE(supervisor_.deadline());
  run_again(end({{kScheduler, {true, SIGSEGV}}}), kScheduler);
  end_well();
  EXPECT_EQ(supervisor_.outcome().replaced, 2U) << "of --restarts";
}

TEST_F(LaunchSchedulerReturns, AsOftenAsMayBe) {
  run_all();
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  EXPECT_TRUE(end({{kScheduler, kKilled}}).restarts.empty());
  end({{kServer, {false, 69}}, {kFirstWorker, {false, 1}}, {kSecondWorker, {false, 1}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "137 ERROR SchedulerLost role=scheduler rank=0 peer=- op=run cause=killed by SIGKILL");
}

TEST_F(LaunchSchedulerReturns, ServersAndSchedulersAreCountedTogether) {
  run_all();
  end({{kServer, kKilled}});
  run_again(supervisor_.on_loss_news(kServer, false, now_), kServer);
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  EXPECT_TRUE(end({{kScheduler, kKilled}}).restarts.empty());
}

TEST_F(LaunchSchedulerReturns, OneThatSaysNothingIsKilledFirst) {
  run_all();
  const Reaction missed = supervisor_.on_loss_news(kScheduler, false, now_);
  EXPECT_TRUE(missed.restarts.empty());
  ASSERT_EQ(missed.orders.size(), 1U);
  EXPECT_EQ(missed.orders[0], (SignalOrder{kScheduler, SIGKILL, Scope::kGroup}));
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  end_well();
}

TEST_F(LaunchSchedulerReturns, ServerEndingMeanwhileAwaitsNextScheduler) {
  run_all();
  const Reaction both = end({{kServer, kKilled}, {kScheduler, kKilled}});
  run_again(both, kScheduler);
  EXPECT_TRUE(supervisor_.may_start());
  run_again(supervisor_.on_loss_news(kServer, false, now_), kServer);
  end_well();
}

TEST_F(LaunchSchedulerReturns, TheWordMayTakeAsLongAsTheSchedulerStandsStill) {
  run_all();
  end({{kServer, kKilled}});
  now_ += 5s;
  supervisor_.on_loss_news(kScheduler, false, now_);
  now_ += 5s;
  supervisor_.on_time(now_);
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  now_ += 5s;
  supervisor_.on_time(now_);
  EXPECT_TRUE(supervisor_.may_start()) << "its word is due 6 s after it runs";
  run_again(supervisor_.on_loss_news(kServer, false, now_), kServer);
}

TEST_F(LaunchSchedulerReturns, OneThatEndsByItselfHasAReason) {
  run_all();
  EXPECT_TRUE(end({{kScheduler, {false, 69}}}).restarts.empty());
  EXPECT_TRUE(end({{kServer, {false, 69}}}).restarts.empty());
}

// Workers may continue to work long after they have left.
TEST_F(LaunchSchedulerReturns, ASchedulerThatHasEndedIsNotMissed) {
  for (const Exit& exit : {kFine, kStatus3}) {
    SCOPED_TRACE(exit.text());
    Supervisor supervisor(members_and(0), limits_with(2), now_, sizing_);
    supervisor.on_spawned(kScheduler);
    supervisor.on_ready();
    for (const std::size_t member : {kServer, kFirstWorker, kSecondWorker})
      supervisor.on_spawned(member);
    supervisor.on_gathering(JobFormation::kComplete, now_);
    const Ended scheduler{kScheduler, exit};
    EXPECT_TRUE(supervisor.on_ended({&scheduler, 1}, 0, now_).restarts.empty());
    const Reaction silent = supervisor.on_loss_news(kScheduler, false, now_ + 10s);
    EXPECT_TRUE(silent.restarts.empty());
    EXPECT_TRUE(silent.notes.empty());
  }
}

TEST_F(LaunchSchedulerReturns, BeforeTheJobHasComeTogetherItIsAFailure) {
  start_all();
  EXPECT_TRUE(end({{kScheduler, kKilled}}).restarts.empty());
}

// The workers wait for the scheduler, and would learn of the failure only by a signal.
TEST_F(LaunchSchedulerReturns, OfAJobThatHasFailedItTellsTheOthersWhy) {
  run_all();
  end({{kFirstWorker, kStatus3}});
  EXPECT_FALSE(supervisor_.may_start());
  run_again(end({{kScheduler, kKilled}}), kScheduler);
  EXPECT_TRUE(supervisor_.may_start(kScheduler));
  EXPECT_FALSE(supervisor_.may_start(kServer));
  end({{kServer, {false, 69}}, {kSecondWorker, kStatus3}, {kScheduler, {false, 69}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().replaced, 0U) << "the job has not gone on by it";
  EXPECT_THAT(verdict(), testing::HasSubstr("role=worker rank=0"));
}

TEST_F(LaunchSchedulerReturns, AJobThatEndsNeedsNone) {
  run_all();
  end({{kFirstWorker, kStatus3}});
  EXPECT_TRUE(supervisor_.on_loss_news(kScheduler, false, now_).orders.empty());
  end({{kServer, kStatus3}, {kSecondWorker, kStatus3}});
  EXPECT_TRUE(end({{kScheduler, kKilled}}).restarts.empty()) << "nobody is left to hear it";
}

TEST_F(LaunchSchedulerReturns, AnInterruptEndsIt) {
  run_all();
  signal(SIGINT);
  EXPECT_TRUE(end({{kScheduler, kKilled}}).restarts.empty());
}

}  // namespace
}  // namespace stretto::launch::supervised
