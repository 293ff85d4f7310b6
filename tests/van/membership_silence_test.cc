// SPDX-License-Identifier: Apache-2.0
// A member's pending verdicts while its scheduler is silent and may be replaced, in virtual time.
#include "tests/van/membership_fixture.h"

namespace stretto {
namespace {

using fake::MembershipClientTest;

// A job whose scheduler may be lost and replaced.
class ReplaceableSchedulerTest : public MembershipClientTest {
 protected:
  void become_member(Duration dead_after = 5s) {
    step();
    say(fake::welcome(11, 1));
    Roster roster = fake::roster();
    roster.settings.scheduler_absence = 120s;
    roster.settings.dead_after = dead_after;
    say(roster);
    scheduler_.controls();
    ASSERT_EQ(membership_.state(), State::kMember);
  }
  void report_server() {
    membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the first"});
  }
  /// Lets time pass while the scheduler sends heartbeats.
  void pass_with_heartbeats(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      jump(100ms);
      say(fake::heartbeat());
    }
  }
};

TEST_F(ReplaceableSchedulerTest, SilenceOfSchedulerHoldsVerdict) {
  become_member(20s);
  report_server();
  pass(15s);
  EXPECT_EQ(membership_.state(), State::kMember);
  EXPECT_FALSE(membership_.scheduler().is_awaited());
  EXPECT_GE(membership_.next_due(), clock_.now()) << "a loop must not spin";
}

TEST_F(ReplaceableSchedulerTest, LostSchedulerIsAwaitedDespiteVerdict) {
  become_member();
  report_server();
  pass(5200ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  EXPECT_TRUE(membership_.scheduler().is_awaited());
}

TEST_F(ReplaceableSchedulerTest, SchedulerHeardAgainGetsTimeToDecide) {
  become_member();
  report_server();
  pass(3800ms);
  pass_with_heartbeats(9800ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass_with_heartbeats(500ms);
  expect_failed(Code::kServerLost, "the first");
}

TEST_F(ReplaceableSchedulerTest, VerdictAlmostDueWaitsForScheduler) {
  become_member();
  report_server();
  pass(2900ms);
  pass_with_heartbeats(500ms);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(ReplaceableSchedulerTest, VerdictAfterSilenceWaitsForScheduler) {
  become_member();
  pass(3800ms);
  pass_with_heartbeats(100ms);
  report_server();
  pass_with_heartbeats(5s);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(ReplaceableSchedulerTest, VerdictFallsWhileSchedulerIsHeard) {
  become_member();
  report_server();
  pass_with_heartbeats(2800ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass_with_heartbeats(300ms);
  expect_failed(Code::kServerLost, "the first");
}

TEST_F(ReplaceableSchedulerTest, SleepOfThisProcessHoldsVerdict) {
  become_member();
  report_server();
  jump(1h);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass_with_heartbeats(9s);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(ReplaceableSchedulerTest, LeaveWaitsForSilentScheduler) {
  become_member(20s);
  membership_.leave();
  pass(7s);
  EXPECT_EQ(membership_.state(), State::kLeaving);
  EXPECT_GE(membership_.next_due(), clock_.now()) << "a loop must not spin";
  pass_with_heartbeats(4800ms);
  EXPECT_EQ(membership_.state(), State::kLeaving);
  pass_with_heartbeats(400ms);
  expect_failed(Code::kTimeout, "did not answer the request to leave");
}

}  // namespace
}  // namespace stretto
