// SPDX-License-Identifier: Apache-2.0
// A worker that its elastic job has expelled, and a worker that rejoins.
#include <gmock/gmock.h>

#include "tests/van/membership_fixture.h"

namespace stretto {
namespace {

using fake::MembershipClientTest;
using testing::HasSubstr;

TEST_F(MembershipClientTest, MemberOfFixedSizeJobIsNotCutOff) {
  become_member();
  Roster roster = *membership_.roster();
  EXPECT_FALSE(roster.settings.elastic());
  pass(6s);
  EXPECT_NE(membership_.state(), State::kCutOff) << "its job is over";
}

class ElasticMembershipTest : public MembershipClientTest {
 protected:
  void become_member() {
    step();
    say(fake::welcome(11, 1));
    Roster roster = fake::roster();
    roster.settings.min_workers = 1;
    say(roster);
    ASSERT_EQ(membership_.state(), State::kMember);
  }
  void expect_cut_off(Code code, const char* says) {
    EXPECT_EQ(membership_.state(), State::kCutOff);
    EXPECT_TRUE(membership_.over());
    EXPECT_EQ(membership_.status().code(), code);
    EXPECT_THAT(membership_.status().cause(), HasSubstr(says));
  }
};

TEST_F(ElasticMembershipTest, SilenceCutsItOff) {
  become_member();
  pass(6s);
  expect_cut_off(Code::kSchedulerLost, "nothing heard of the scheduler");
}

TEST_F(ElasticMembershipTest, SoDoesTheSchedulersWordThatItIsLost) {
  become_member();
  say(control::Fault{.why = Status(Code::kPeerLost, "worker 1 is lost").with_peer("worker 1")});
  expect_cut_off(Code::kPeerLost, "worker 1 is lost");
}

TEST_F(ElasticMembershipTest, TheEndOfTheJobDoesNot) {
  become_member();
  say(control::Failure{.why = {Code::kServerLost, "server 0 is lost"}});
  expect_failed(Code::kServerLost, "server 0");
  EXPECT_NE(membership_.state(), State::kCutOff);
}

TEST_F(ElasticMembershipTest, LocalFailureDoesNotCutOff) {
  become_member();
  membership_.fail({Code::kTimeout, "a link takes no more bytes"});
  EXPECT_NE(membership_.state(), State::kCutOff);
}

// The address may be the scheduler's of a running job that will restart.
TEST_F(MembershipClientTest, LateWorkerWithoutRosterReconnects) {
  config_.rank = 2;
  step();
  say(fake::welcome(13, 1));
  ASSERT_EQ(membership_.state(), State::kRendezvous);
  scheduler_.break_link();
  step();
  EXPECT_EQ(membership_.state(), State::kGreeting);
  EXPECT_EQ(membership_.hello().node, 0U) << "as if it had heard nothing";
  EXPECT_EQ(membership_.hello().rank, 2);
  EXPECT_EQ(membership_.hello().job, 0U);
}

TEST_F(MembershipClientTest, InitialWorkerDoesNotReconnect) {
  step();
  say(fake::welcome(11, 1));
  scheduler_.break_link();
  step();
  expect_failed(Code::kSchedulerLost, "broke");
}

class ReturningMembershipTest : public MembershipClientTest {
 protected:
  ReturningMembershipTest() { returns_.former = 7; }

  Config returns_ = fake::config(Role::kWorker, 1);
};

TEST_F(ReturningMembershipTest, SaysHelloWithFormerNode) {
  MembershipClient again(returns_, {}, van_, clock_);
  again.start();
  EXPECT_EQ(again.hello().node, 7U);
}

TEST_F(ReturningMembershipTest, GivesUpWhenConnectionsAreRefused) {
  MembershipClient again(returns_, {}, van_, clock_);
  again.start();
  const Time began = clock_.now();
  for (LinkId link = 2; !again.over() && clock_.now() < began + 10s; ++link) {
    again.on_broken(link, {Code::kRefused, "connection refused"});
    clock_.advance_to(clock_.now() + 100ms);
    again.tick();
  }
  EXPECT_EQ(again.status().code(), Code::kSchedulerLost);
  EXPECT_THAT(again.status().cause(), HasSubstr("nobody listens at scheduler:9000 any more"));
  EXPECT_GE(clock_.now() - began, 1s) << "it may be about to listen again";
  EXPECT_LT(clock_.now() - began, 2s);
}

TEST_F(ReturningMembershipTest, WaitsForALinkThatIsAway) {
  MembershipClient again(returns_, {}, van_, clock_);
  again.start();
  const Time began = clock_.now();
  for (LinkId link = 2; clock_.now() < began + 5s; ++link) {
    again.on_broken(link, {Code::kLinkBroken, "no route to host"});
    clock_.advance_to(clock_.now() + 100ms);
    again.tick();
  }
  EXPECT_FALSE(again.over());
}

}  // namespace
}  // namespace stretto
