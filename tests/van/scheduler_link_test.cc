// SPDX-License-Identifier: Apache-2.0
// A member whose scheduler is lost and awaited, in virtual time, with simulated schedulers.
#include "van/membership/scheduler_link.h"

#include "tests/van/membership_fixture.h"

namespace stretto::fake {
namespace {

using testing::HasSubstr;

class AwaitedSchedulerTest : public MembershipClientTest {
 protected:
  using MembershipClientTest::MembershipClientTest;

  void become_member(Duration absence = 120s) {
    step();
    control::Welcome first = std::get<control::Welcome>(control::Message(welcome(11, 1)));
    first.job = 7;
    first.life = 1;
    say(first);
    Roster all = roster();
    all.settings.scheduler_absence = absence;
    say(all);
    scheduler_.controls();
    ASSERT_EQ(membership_.state(), State::kMember);
  }
  void lose() {
    scheduler_.break_link();
    step();
  }
  /// The peer of the last connection attempt.
  FarEnd callee() { return {wire_, static_cast<LinkId>(wire_.connected.size()), 1}; }
  static control::Hello hello_in(FarEnd& far) {
    return std::get<control::Hello>(far.controls().at(0));
  }
  void answer(FarEnd& far, std::uint32_t life, std::uint64_t job = 7) {
    far.say(control::Welcome{.node = 11, .rank = 1, .job = job, .life = life});
    step();
  }
};

TEST_F(AwaitedSchedulerTest, WhereNoneComesBackItsLossIsTheEnd) {
  become_member(0s);
  lose();
  expect_failed(Code::kSchedulerLost, "the link to the scheduler");
}

TEST_F(AwaitedSchedulerTest, ReconnectHelloCarriesMemberIdentity) {
  become_member();
  lose();
  EXPECT_EQ(membership_.state(), State::kMember);
  EXPECT_EQ(membership_.scheduler().id(), 0U);
  step();
  FarEnd far = callee();
  const control::Hello hello = hello_in(far);
  EXPECT_EQ(hello.node, 11U);
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.job, 7U);
  EXPECT_EQ(hello.life, 1U);
  answer(far, 2);
  EXPECT_NE(membership_.scheduler().id(), 0U);
  pass(600ms);
  const auto heard = far.controls();
  EXPECT_TRUE(std::ranges::any_of(heard, control::is<control::Heartbeat>));
}

TEST_F(AwaitedSchedulerTest, NothingIsAskedOfItMeanwhile) {
  become_member();
  lose();
  pass(5s);
  EXPECT_TRUE(van_.queue().waiting() <= 1) << "a hello at most";
  EXPECT_GT(wire_.connected.size(), 3U) << "it is called again and again";
}

// A member whose starter has ended: its process id exists, but started at another time.
class AbandonedMemberTest : public AwaitedSchedulerTest {
 protected:
  AbandonedMemberTest() : AwaitedSchedulerTest(abandoned()) {}

  static Config abandoned() {
    Config config = fake::config(Role::kWorker, 1);
    const std::string own = ParentProcess::own_name();
    config.starter =
        own.substr(0, own.find(':')) + ":1" + own.substr(own.find(':', own.find(':') + 1));
    return config;
  }
};

TEST_F(AbandonedMemberTest, MemberFailsAtOnceIfStarterHasEnded) {
  become_member();
  lose();
  step();
  expect_failed(Code::kSchedulerLost, "so that it waits for no other scheduler");
}

TEST_F(AwaitedSchedulerTest, AfterThatTimeTheErrorSaysSo) {
  become_member(10s);
  lose();
  for (int i = 0; i < 120 && !membership_.over(); ++i) pass(100ms);
  expect_failed(Code::kSchedulerLost, "and it was not back within 10 s");
  EXPECT_EQ(membership_.status().peer(), "scheduler");
}

TEST_F(AwaitedSchedulerTest, OneThatStandsStillIsLeftForAnother) {
  become_member();
  pass(config_.job.dead_after + 200ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  EXPECT_TRUE(scheduler_.closed());
  FarEnd far = callee();
  EXPECT_EQ(hello_in(far).node, 11U);
}

TEST_F(AwaitedSchedulerTest, AnEarlierOneAndAnothersAreRefused) {
  become_member();
  lose();
  step();
  FarEnd second = callee();
  hello_in(second);
  answer(second, 3);
  EXPECT_NE(membership_.scheduler().id(), 0U);
  second.break_link();
  step();
  step();
  FarEnd old = callee();
  answer(old, 2);
  EXPECT_EQ(membership_.scheduler().id(), 0U);
  EXPECT_TRUE(old.closed());
  pass(300ms);
  FarEnd other = callee();
  answer(other, 3, 8);
  EXPECT_EQ(membership_.scheduler().id(), 0U);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(AwaitedSchedulerTest, RefusalByStrangerDoesNotEndWait) {
  become_member();
  lose();
  step();
  FarEnd far = callee();
  far.say(control::Fault{.why = {Code::kRefused, "another token"}});
  step();
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(AwaitedSchedulerTest, AMemberThatIsLostHearsIt) {
  become_member();
  lose();
  step();
  FarEnd far = callee();
  far.say(control::Fault{.why = {Code::kPeerLost, "worker 1 is lost to the job"}});
  step();
  expect_failed(Code::kPeerLost, "worker 1 is lost");
}

TEST_F(AwaitedSchedulerTest, AFarewellIsSaidAgain) {
  become_member();
  membership_.leave();
  step();
  lose();
  pass(6s);
  EXPECT_EQ(membership_.state(), State::kLeaving) << "its patience begins with the next one";
  FarEnd far = callee();
  answer(far, 2);
  const auto heard = far.controls();
  EXPECT_TRUE(std::ranges::any_of(heard, control::is<control::Leave>));
  far.say(control::Leave{});
  step();
  EXPECT_EQ(membership_.state(), State::kLeft);
}

TEST_F(AwaitedSchedulerTest, ReportsBrokenLinkToNextScheduler) {
  become_member();
  membership_.report_broken(50, {Code::kLinkBroken, "reset"},
                            Status(Code::kServerLost, "the link to server 0 broke"));
  lose();
  pass(5s);
  EXPECT_EQ(membership_.state(), State::kMember);
  FarEnd far = callee();
  answer(far, 2);
  bool told = false;
  for (const control::Message& message : far.controls()) {
    const auto* report = std::get_if<control::LinkReport>(&message);
    told = told || (report != nullptr && report->node == 50);
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace stretto::fake
