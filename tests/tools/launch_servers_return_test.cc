// SPDX-License-Identifier: Apache-2.0
// In a job of fixed size a server is restarted on its scheduler's notification, in virtual time.
#include <gmock/gmock.h>

#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class LaunchServersReturn : public SupervisorFixture {
 protected:
  LaunchServersReturn() : SupervisorFixture(GoingOn::Sizing::kServersReturn) {}

  Reaction is_awaited() { return supervisor_.on_loss_news(kServer, false, now_); }
};

TEST_F(LaunchServersReturn, AKilledServerIsRunAgainOnceTheSchedulerSaysSo) {
  run_all();
  const Reaction ended = end({{kServer, kKilled}});
  EXPECT_TRUE(ended.notes.empty() && ended.restarts.empty());
  const Reaction said = is_awaited();
  EXPECT_EQ(said.restarts, (std::vector<Restart>{{kServer, kServer}}));
  ASSERT_EQ(said.notes.size(), 1U);
  EXPECT_EQ(said.notes[0], "server 0 killed by SIGKILL; another is started in its place");
  supervisor_.on_spawned(kServer);
  EXPECT_FALSE(supervisor_.deadline());
  end({{kServer, kKilled}});  // And again.
  EXPECT_EQ(is_awaited().restarts.size(), 1U);
  supervisor_.on_spawned(kServer);
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
  EXPECT_EQ(supervisor_.outcome().replaced, 2U) << "of --restarts";
}

TEST_F(LaunchServersReturn, OneThatStandsStillIsKilledFirst) {
  run_all();
  const Reaction said = is_awaited();
  EXPECT_TRUE(said.restarts.empty());
  ASSERT_EQ(said.orders.size(), 1U);
  EXPECT_EQ(said.orders[0], (SignalOrder{kServer, SIGKILL, SignalOrder::Scope::kGroup}));
  const Reaction ended = end({{kServer, kKilled}});
  EXPECT_EQ(ended.restarts.size(), 1U);
  ASSERT_EQ(ended.notes.size(), 1U);
  EXPECT_EQ(ended.notes[0],
            "server 0 was lost to the job and killed; another is started in its place");
}

TEST_F(LaunchServersReturn, DroppedServerIsNotMissedAndMayReturn) {
  run_all();
  EXPECT_THAT(supervisor_.on_loss_news(kServer, false, now_, true).notes,
              testing::ElementsAre("the job goes on without server 0"));
  EXPECT_TRUE(end({{kServer, kKilled}}).notes.empty()) << "however it ends";
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), Limits().silence);
  const Reaction moved =
      begin_move(supervisor_, {.member = kServer, .instead_of = kServer, .site = 0});
  EXPECT_EQ(moved.restarts, (std::vector<Restart>{{kServer, kServer, 0}}));
  supervisor_.on_spawned(kServer);
  end({{kServer, kKilled}});
  EXPECT_EQ(is_awaited().restarts.size(), 1U) << "as any other";
  EXPECT_EQ(supervisor_.evidence().members[kServer].returned, 1U);
}

TEST_F(LaunchServersReturn, KillsDroppedServerThatDoesNotEnd) {
  run_all();
  supervisor_.on_loss_news(kServer, false, now_, true);
  const Reaction late = wait();
  EXPECT_EQ(elapsed(), Limits().settle);
  EXPECT_EQ(late.orders, to({kServer}, SIGKILL, Scope::kGroup));
}

// Its rank was migrated to another server, and is then migrated back to it.
class LaunchServerThatComes : public LaunchServersReturn {
 protected:
  void begin() {
    run_all();
    supervisor_.on_loss_news(kServer, false, now_, true);
    end({{kServer, kFine}});
    const Reaction begun =
        begin_move(supervisor_, {.member = kServer, .instead_of = kSecondWorker});
    ASSERT_EQ(begun.restarts.size(), 1U);
  }
  void expect_that_all_goes_on() {
    end({{kFirstWorker, kFine}, {kSecondWorker, kFine}, {kScheduler, kFine}});
    ASSERT_TRUE(supervisor_.over());
    EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
  }
};

TEST_F(LaunchServerThatComes, ItsEndBeforeItHasThePlaceHarmsNothing) {
  begin();
  supervisor_.on_spawned(kServer);
  std::vector<std::string> notes = end({{kServer, {false, 1}}}).notes;
  EXPECT_THAT(notes, testing::IsEmpty());
  notes = wait().notes;
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("goes on without it")));
  EXPECT_EQ(elapsed(), Limits().word);
  expect_that_all_goes_on();
}

TEST_F(LaunchServerThatComes, NorDoesThatItCannotBeStarted) {
  begin();
  supervisor_.on_refused(kServer, 1, {Code::kResource, "no processes left"}, now_);
  expect_that_all_goes_on();
}

TEST_F(LaunchServerThatComes, NorThatItsHostIsLost) {
  begin();
  supervisor_.on_spawned(kServer);
  const std::vector<std::size_t> there = {kServer};
  supervisor_.on_host_lost(there, {Code::kPeerLost, "the host is gone"}, now_, now_);
  expect_that_all_goes_on();
}

TEST_F(LaunchServersReturn, WithoutThatWordAFailureEndsTheJob) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_THAT(wait().notes, testing::ElementsAre(testing::HasSubstr("server 0 killed by SIGKILL")));
  EXPECT_EQ(elapsed(), Limits().word);
}

TEST_F(LaunchServersReturn, UnknownReplacementIsReplacedWithoutWord) {
  run_all();
  end({{kServer, kKilled}});
  is_awaited();
  supervisor_.on_spawned(kServer);
  end({{kServer, kKilled}});
  const Reaction later = wait();
  EXPECT_EQ(elapsed(), Limits().word);
  EXPECT_EQ(later.restarts, (std::vector<Restart>{{kServer, kServer}}));
  EXPECT_THAT(later.notes, testing::ElementsAre(testing::HasSubstr("another is started")));
}

TEST_F(LaunchServersReturn, ASchedulerThatEndsSaysNothingMore) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_FALSE(end({{kScheduler, {false, 69}}}).notes.empty());
}

TEST_F(LaunchServersReturn, LateServerDoesNotFailFinishedJob) {
  run_all();
  end({{kServer, kKilled}});
  is_awaited();
  supervisor_.on_spawned(kServer);
  end({{kFirstWorker, kFine}, {kSecondWorker, kFine}, {kScheduler, kFine}});
  end({{kServer, {false, 66}}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersReturn, DoesNotRestartServerDuringShutdown) {
  run_all();
  signal(SIGTERM);
  end({{kServer, {true, SIGTERM}}});
  const Reaction said = is_awaited();
  EXPECT_TRUE(said.restarts.empty());
}

TEST_F(LaunchServersReturn, AWorkersLossEndsTheJobAtOnce) {
  run_all();
  EXPECT_FALSE(end({{kFirstWorker, kKilled}}).notes.empty());
}

TEST_F(LaunchServersReturn, AServerThatIsLostWithItsHostIsNot) {
  run_all();
  const std::vector<std::size_t> there = {kServer};
  const Reaction lost =
      supervisor_.on_host_lost(there, {Code::kPeerLost, "the host is gone"}, now_, now_);
  EXPECT_FALSE(lost.notes.empty());
}

}  // namespace
}  // namespace stretto::launch::supervised
