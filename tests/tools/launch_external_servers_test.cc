// SPDX-License-Identifier: Apache-2.0
// A launcher and external servers of its job, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>

#include "tools/launch/supervision/external_servers.h"
#include "tools/launch/supervision/member_news.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GuestServers, ExternalServersGetNumbersAfterLaunchers) {
  Plan plan;
  plan.servers = 2;
  EXPECT_THAT(guest_servers(plan), IsEmpty());
  plan.restarts = 1;
  const std::vector<JobMember> guests = guest_servers(plan);
  ASSERT_EQ(guests.size(), 4U);
  EXPECT_EQ(guests.front(), (JobMember{Role::kServer, 4}));
  EXPECT_EQ(guests.back(), (JobMember{Role::kServer, 7}));
  plan.restarts = 0;
  plan.replicas = 2;
  EXPECT_EQ(guest_servers(plan), guests);
}

// A job of one server rank and one worker, with the external servers 2 and 3.
class LauncherOfGuests : public testing::Test {
 protected:
  static constexpr std::size_t kFirst = 1;
  static constexpr std::size_t kWorker = 2;
  static constexpr std::size_t kSecond = 3;
  static constexpr std::size_t kGuest = 4;

  void begin(GoingOn::Sizing sizing, bool stands_by) {
    std::vector<JobMember> members = {{Role::kScheduler, 0}, {Role::kServer, 0}};
    if (stands_by) members.push_back({Role::kServer, 1});
    members.push_back({Role::kWorker, 0});
    if (!stands_by) members.push_back({Role::kServer, 1});
    members.push_back({Role::kServer, 2});
    members.push_back({Role::kServer, 3});
    Limits limits;
    limits.places = 1;
    supervisor_.emplace(members, limits, now_, sizing, stands_by ? 2 : 3, 2);
    supervisor_->on_spawned(0);
    supervisor_->on_ready();
    for (std::size_t member = 1; member < (stands_by ? 4 : 3); ++member) {
      supervisor_->on_spawned(member);
    }
    supervisor_->on_gathering(JobFormation::kComplete, now_);
  }
  Reaction end(std::size_t member, const Exit& exit = {}) {
    const std::vector<Ended> ended = {{member, exit}};
    return supervisor_->on_ended(ended, 0, now_);
  }
  /// The external server 2 replaces server 0.
  void give_away() {
    supervisor_->on_loss_news(kFirst, false, now_, true);
    end(kFirst);
  }
  Reaction lose(std::size_t member) { return supervisor_->on_loss_news(member, false, now_); }
  void ends_well() {
    end(kWorker);
    end(0);
    ASSERT_TRUE(supervisor_->over());
    EXPECT_EQ(supervisor_->outcome().verdict.exit_status, 0);
  }

  Time now_ = Time(1s);
  std::optional<Supervisor> supervisor_;
};

TEST_F(LauncherOfGuests, TheirEndIsNoneOfItsProcesses) {
  begin(GoingOn::Sizing::kServersReturn, false);
  give_away();
  EXPECT_EQ(silence_limit(supervisor_->evidence(), Limits()), Limits().silence);
  ends_well();
}

TEST_F(LauncherOfGuests, OneThatIsLostIsReplacedByOneThatIsStartedHere) {
  begin(GoingOn::Sizing::kServersReturn, false);
  give_away();
  const Reaction said = lose(kGuest);
  EXPECT_EQ(said.restarts, (std::vector<Restart>{{kFirst, kFirst}}));
  EXPECT_THAT(said.notes,
              ElementsAre("server 2, which had joined, is lost; server 0 is started in its place"));
  supervisor_->on_spawned(kFirst);
  EXPECT_EQ(supervisor_->evidence().members[kFirst].returned, 1U) << "it counts";
  end(kFirst, {true, SIGKILL});
  EXPECT_THAT(lose(kFirst).notes,
              ElementsAre("server 0 killed by SIGKILL; another is started in its place"));
  supervisor_->on_spawned(kFirst);
  end(kFirst);
  ends_well();
}

TEST_F(LauncherOfGuests, UnstartedServerReplacesLostExternalServer) {
  begin(GoingOn::Sizing::kServersReturn, false);
  supervisor_->on_loss_news(kFirst, false, now_, true);
  EXPECT_EQ(lose(kGuest).restarts, (std::vector<Restart>{{kSecond, kSecond}}));
  supervisor_->on_spawned(kSecond);
}

TEST_F(LauncherOfGuests, MovedServerReplacesDroppedExternalServer) {
  begin(GoingOn::Sizing::kServersReturn, false);
  give_away();
  begin_move(*supervisor_, {.member = kFirst, .instead_of = kGuest});
  supervisor_->on_spawned(kFirst);
  supervisor_->on_loss_news(kGuest, false, now_, true);
  EXPECT_FALSE(supervisor_->evidence().members[kFirst].comes_for);
  end(kFirst, {true, SIGKILL});
  EXPECT_EQ(lose(kFirst).restarts, (std::vector<Restart>{{kFirst, kFirst}})) << "it is missed";
}

TEST_F(LauncherOfGuests, WhereServersStandByTheNumberThatIsFreeIsTaken) {
  begin(GoingOn::Sizing::kServersStandBy, true);
  constexpr std::size_t kStandby = 2;
  constexpr std::size_t kOne = 4;
  end(kFirst, {true, SIGKILL});
  EXPECT_EQ(lose(kFirst).restarts.size(), 1U);
  supervisor_->on_spawned(kFirst);
  end(kFirst, {true, SIGKILL});
  lose(kFirst);  // The last of --restarts.
  supervisor_->on_spawned(kFirst);
  end(kFirst, {true, SIGKILL});
  lose(kFirst);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_THAT(lose(kOne).notes, ElementsAre("server 2 is lost; the job goes on without it"));
  }
  EXPECT_TRUE(supervisor_->evidence().is_alive(kStandby));
}

// Server 1 is lost and restarted, but the external server 2 registers first.
TEST_F(LauncherOfGuests, OneThatIsTurnedAwayUsesUpNoRestart) {
  begin(GoingOn::Sizing::kServersStandBy, true);
  constexpr std::size_t kStandby = 2;
  constexpr std::size_t kOne = 4;
  end(kStandby, {true, SIGKILL});
  EXPECT_EQ(lose(kStandby).restarts, (std::vector<Restart>{{kStandby, kStandby}}));
  supervisor_->on_spawned(kStandby);
  supervisor_->on_loss_news(kStandby, false, now_, true);
  const Reaction ended = end(kStandby, {false, 1});
  EXPECT_THAT(ended.restarts, IsEmpty());
  now_ += 60s;
  EXPECT_THAT(supervisor_->on_time(now_).restarts, IsEmpty());
  EXPECT_EQ(supervisor_->evidence().members[kStandby].returned, 1U);
  // Once server 2 is lost, it becomes the standby: the second of --restarts.
  EXPECT_EQ(lose(kOne).restarts, (std::vector<Restart>{{kStandby, kStandby}}));
  supervisor_->on_spawned(kStandby);
}

TEST_F(LauncherOfGuests, KeepsPrimaryRunningIfExternalServerIsLost) {
  begin(GoingOn::Sizing::kServersStandBy, true);
  constexpr std::size_t kStandby = 2;
  constexpr std::size_t kOne = 4;
  end(kStandby, {true, SIGKILL});
  lose(kStandby);
  supervisor_->on_spawned(kStandby);  // Rejected: it has yet to end.
  const Reaction lost = lose(kOne);
  EXPECT_THAT(lost.orders, IsEmpty());
  EXPECT_THAT(lost.restarts, IsEmpty());
  EXPECT_THAT(lost.notes, ElementsAre("server 2 is lost; the job goes on without it"));
  EXPECT_FALSE(supervisor_->evidence().members[kFirst].awaited);
}

TEST(GuestServers, OnlyIdleServerOfSamePlaceStandsIn) {
  JobEvidence evidence;
  for (const JobMember& member :
       {JobMember{Role::kScheduler, 0}, JobMember{Role::kServer, 0}, JobMember{Role::kServer, 1},
        JobMember{Role::kServer, 2}, JobMember{Role::kWorker, 2}}) {
    evidence.members.emplace_back(member);
  }
  EXPECT_EQ(stand_in_for(3, 1, evidence), 1U);
  evidence.record_start(1);
  EXPECT_EQ(stand_in_for(3, 1, evidence), 2U);
  evidence.record_start(2);
  EXPECT_EQ(stand_in_for(3, 1, evidence), std::nullopt) << "both run, and one of them serves";
  EXPECT_EQ(stand_in_for(3, 0, evidence), std::nullopt);
  EXPECT_EQ(stand_in_for(2, 1, evidence), std::nullopt);
  EXPECT_EQ(stand_in_for(4, 1, evidence), std::nullopt);
}

}  // namespace
}  // namespace stretto::launch
