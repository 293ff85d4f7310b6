// SPDX-License-Identifier: Apache-2.0
// A member's life cycle, state by state, in virtual time, with a simulated scheduler.
#include "van/membership/membership_client.h"

#include <gmock/gmock.h>

#include "tests/van/membership_fixture.h"

namespace stretto {
namespace {

using fake::FarEnd;
using fake::MembershipClientTest;
using testing::HasSubstr;

// ---- handshake

TEST_F(MembershipClientTest, SendsHelloWithIdentity) {
  step();
  EXPECT_EQ(membership_.state(), State::kGreeting);
  EXPECT_EQ(wire_.connected.front(), "scheduler:9000");
  const control::Hello hello = std::get<control::Hello>(scheduler_.control());
  EXPECT_EQ(hello.protocol, wire::kProtocol);
  EXPECT_EQ(hello.token, "secret");
  EXPECT_EQ(hello.role, Role::kWorker);
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.workers, 2U);
  EXPECT_EQ(hello.node, 0U);
}

TEST_F(MembershipClientTest, TriesAgainWhileTheSchedulerIsNotUp) {
  scheduler_.break_link();
  step();
  EXPECT_EQ(membership_.state(), State::kGreeting);
  EXPECT_EQ(wire_.connected.size(), 1U) << "not at once";
  jump(100ms);
  EXPECT_EQ(wire_.connected.size(), 2U);
  FarEnd second(wire_, 2, kSchedulerNode);
  EXPECT_TRUE(control::is<control::Hello>(second.control()));
  second.say(fake::welcome(11, 1));
  step();
  EXPECT_EQ(membership_.state(), State::kRendezvous);
}

TEST_F(MembershipClientTest, GivesUpOnASchedulerThatNeverAnswers) {
  pass(9900ms);
  EXPECT_EQ(membership_.state(), State::kGreeting);
  pass(200ms);
  expect_failed(Code::kRendezvousTimeout, "no scheduler answered at scheduler:9000 within 10 s");
}

TEST_F(MembershipClientTest, SaysWhyTheLastAttemptFailed) {
  scheduler_.break_link();
  pass(11s);
  expect_failed(Code::kRendezvousTimeout, "the connection was reset");
}

TEST_F(MembershipClientTest, LocalResourceErrorFailsJoinAtOnce) {
  step();
  ASSERT_TRUE(membership_.on_broken(1, {Code::kResource, "wanted a socket"}));
  expect_failed(Code::kResource, "wanted a socket");
  EXPECT_EQ(membership_.status().operation(), "join");
}

TEST_F(MembershipClientTest, AnAddressThatCannotBeUsedFailsAtOnce) {
  wire_.refusal = {Code::kNetwork, "host 'x' cannot be resolved"};
  MembershipClient other(config_, {}, van_, clock_);
  other.start();
  EXPECT_EQ(other.state(), State::kFailed);
  EXPECT_EQ(other.status().operation(), "join");
}

TEST_F(MembershipClientTest, ARefusalEndsIt) {
  step();
  say(control::Fault{.why = {Code::kRefused, "the job has 3 workers"}});
  expect_failed(Code::kRefused, "the job has 3 workers");
  EXPECT_EQ(membership_.status().peer(), "scheduler");
}

// ---- rendezvous

TEST_F(MembershipClientTest, AWelcomeGivesIdentityAndARosterMakesAMember) {
  step();
  say(fake::welcome(11, 1));
  EXPECT_EQ(membership_.state(), State::kRendezvous);
  EXPECT_EQ(membership_.node(), 11U);
  EXPECT_EQ(membership_.number(), 1U);
  EXPECT_EQ(membership_.hello().node, 11U) << "what it tells shards from now on";
  EXPECT_FALSE(membership_.roster());
  say(fake::roster());
  EXPECT_EQ(membership_.state(), State::kMember);
  EXPECT_EQ(membership_.roster()->epoch, 1U);
}

TEST_F(MembershipClientTest, WaitsForTheRosterAsLongAsTheSchedulerLives) {
  step();
  say(fake::welcome(11, 1));
  for (int second = 0; second < 60; ++second) {
    scheduler_.say(fake::heartbeat());
    pass(1s);
  }
  EXPECT_EQ(membership_.state(), State::kRendezvous);
  say(fake::roster());
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(MembershipClientTest, ALostLinkDuringRendezvousIsTheSchedulerLost) {
  step();
  say(fake::welcome(11, 1));
  scheduler_.break_link();
  step();
  expect_failed(Code::kSchedulerLost, "scheduler:9000 broke: the connection was reset");
}

TEST_F(MembershipClientTest, ARosterThatMakesNoSenseEndsIt) {
  step();
  say(fake::welcome(11, 1));
  Roster roster = fake::roster();
  roster.slots = 0;
  say(roster);
  expect_failed(Code::kSchedulerLost, "a roster of 3 members, 2 workers, 1 servers and 0 slots");
}

// ---- member

TEST_F(MembershipClientTest, OnlyNewerRostersCount) {
  become_member();
  Roster next = fake::roster();
  next.epoch = 3;
  next.settings.stall_error = 99s;
  say(next);
  EXPECT_EQ(membership_.settings().stall_error, 99s) << "the scheduler's settings hold";
  next.epoch = 2;
  next.settings.stall_error = 98s;
  say(next);
  EXPECT_EQ(membership_.roster()->epoch, 3U);
  EXPECT_EQ(membership_.settings().stall_error, 99s);
}

TEST_F(MembershipClientTest, PartialRosterChangesListedMembersOnly) {
  become_member();
  const std::size_t members = membership_.roster()->members.size();
  Roster change = fake::roster();
  change.epoch = 2;
  change.since = 1;
  change.settings.stall_error = 99s;
  change.members = {*change.find(10)};
  change.members.front().left = true;
  say(change);
  EXPECT_EQ(membership_.roster()->epoch, 2U);
  EXPECT_EQ(membership_.roster()->members.size(), members);
  EXPECT_TRUE(membership_.roster()->find(10)->left);
  EXPECT_FALSE(membership_.roster()->find(11)->left);
  EXPECT_EQ(membership_.settings().stall_error, 99s);
}

TEST_F(MembershipClientTest, FullRosterMayOmitDepartedMembers) {
  become_member();
  Roster change = fake::roster();
  change.epoch = 2;
  change.since = 1;
  change.members = {*change.find(10)};
  change.members.front().left = true;
  say(change);
  Roster whole = fake::roster();
  whole.epoch = 3;
  std::erase_if(whole.members, [](const Member& member) { return member.node == 10; });
  say(whole);
  EXPECT_EQ(membership_.roster()->epoch, 3U);
  EXPECT_TRUE(membership_.roster()->find(10)->left) << "it is remembered";
  std::erase_if(whole.members, [](const Member& member) { return member.node == 50; });
  whole.epoch = 4;
  say(whole);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, AChangeOfARosterThatNeverCameEndsIt) {
  become_member();
  Roster change = fake::roster();
  change.epoch = 4;
  change.since = 3;
  say(change);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, PartialRosterWithUnknownMemberFails) {
  become_member();
  Roster change = fake::roster();
  change.epoch = 2;
  change.since = 1;
  change.members = {*change.find(10)};
  change.members.front().node = 99;
  say(change);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, AChangeIsNoFirstRoster) {
  step();
  say(fake::welcome(11, 1));
  Roster change = fake::roster();
  change.epoch = 2;
  change.since = 1;
  say(change);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, AFenceThatGoesBackEndsIt) {
  become_member();
  Roster next = fake::roster();
  next.epoch = 2;
  next.fence = 0;
  say(next);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, ARosterThatContradictsTheOneBeforeEndsIt) {
  become_member();
  Roster next = fake::roster();
  next.epoch = 2;
  next.settings.part_bytes = 128;
  say(next);
  expect_failed(Code::kMalformed, "contradicts the one before");
}

TEST_F(MembershipClientTest, PartsLargerThanThisProcessWasToldOfEndIt) {
  config_.job.part_bytes = 64;
  step();
  say(fake::welcome(11, 1));
  say(fake::roster());
  expect_failed(Code::kMismatch, "parts have up to 262144 bytes, this process was told of 64");
}

TEST_F(MembershipClientTest, ShowsSignsOfLifeAtEachHeartbeat) {
  become_member();
  pass(3s);
  const auto messages = scheduler_.controls();
  EXPECT_GE(messages.size(), 6U);
  EXPECT_LE(messages.size(), 8U);
  for (const control::Message& message : messages)
    EXPECT_TRUE(control::is<control::Heartbeat>(message));
  EXPECT_LE(membership_.next_due(), clock_.now() + config_.job.heartbeat);
}

TEST_F(MembershipClientTest, HeartbeatsTellOfInputAndAreToldItsLimit) {
  become_member();
  pass(1s);
  EXPECT_FALSE(std::get<control::Heartbeat>(scheduler_.controls().back()).input.has_value());
  jump(500ms);
  EXPECT_FALSE(membership_.heartbeats().due(clock_.now()));
  clock_.advance_to(clock_.now() + 500ms);
  EXPECT_TRUE(membership_.heartbeats().due(clock_.now()));
  InputTotals totals;
  totals.at = clock_.now();
  totals.delivered_bytes = 1;
  totals.demanded_bytes = 2;
  totals.stall = 3ns;
  totals.requests = 4;
  totals.latency = 5ns;
  totals.in_flight_bytes = 7;
  totals.read_bytes = 6;
  membership_.heartbeats().set_progress({.rounds = 1, .staleness = 0, .input = totals});
  scheduler_.controls();
  step();
  const std::optional<InputTotals> told = std::get<control::Heartbeat>(scheduler_.control()).input;
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->at, totals.at);
  EXPECT_EQ(told->delivered_bytes, 1U);
  EXPECT_EQ(told->demanded_bytes, 2U);
  EXPECT_EQ(told->stall, 3ns);
  EXPECT_EQ(told->requests, 4U);
  EXPECT_EQ(told->latency, 5ns);
  EXPECT_EQ(told->read_bytes, 6U);
  EXPECT_EQ(told->in_flight_bytes, 7U);
  EXPECT_EQ(membership_.heartbeats().input_limit_bytes(), 0U);
  control::Heartbeat answer = fake::heartbeat();
  answer.input_limit_bytes = 1 << 20;
  say(answer);
  EXPECT_EQ(membership_.heartbeats().input_limit_bytes(), 1U << 20);
  EXPECT_FALSE(membership_.heartbeats().others_pause());
  answer.activity = control::Activity{.pause = "evaluation"};
  say(answer);
  EXPECT_TRUE(membership_.heartbeats().others_pause());
  membership_.fail({Code::kCancelled, "enough"});
  EXPECT_EQ(membership_.heartbeats().input_limit_bytes(), 0U)
      << "nobody is held back by a job that is over";
  EXPECT_FALSE(membership_.heartbeats().others_pause());
}

TEST_F(MembershipClientTest, ASilentSchedulerIsLost) {
  become_member();
  pass(4800ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass(400ms);
  expect_failed(Code::kSchedulerLost, "nothing heard of the scheduler at scheduler:9000");
}

TEST_F(MembershipClientTest, AHeartbeatFromTheSchedulerIsASignOfLife) {
  become_member();
  pass(4s);
  say(fake::heartbeat());
  pass(4s);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(MembershipClientTest, SleepingMemberDoesNotBlameScheduler) {
  become_member();
  jump(1h);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass(4s);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass(2s);
  expect_failed(Code::kSchedulerLost, "5.1 s");
}

TEST_F(MembershipClientTest, AFailureOfTheJobIsTakenOver) {
  become_member();
  control::Failure failure{
      .why = Status(Code::kPeerLost, "worker 0 is lost: it crashed").with_peer("worker 0")};
  say(failure);
  expect_failed(Code::kPeerLost, "it crashed");
  EXPECT_EQ(membership_.status().peer(), "worker 0");
}

TEST_F(MembershipClientTest, FaultsOfOneTensorOrBarrierAreNotItsBusiness) {
  become_member();
  control::Fault fault = {.why = {Code::kMismatch, "x"}};
  fault.tensor = 4;
  say(fault);
  EXPECT_FALSE(handled_);
  fault.tensor = 0;
  fault.name = "barrier";
  say(fault);
  EXPECT_FALSE(handled_);
  EXPECT_EQ(membership_.state(), State::kMember);
}

TEST_F(MembershipClientTest, OtherLinksAreNotItsBusiness) {
  become_member();
  EXPECT_FALSE(membership_.on_control(55, fake::leave()));
  EXPECT_FALSE(membership_.on_broken(55, {Code::kLinkBroken, "x"}));
  EXPECT_EQ(membership_.state(), State::kMember);
}

// ---- reports

TEST_F(MembershipClientTest, ReportsBrokenLinkAndAwaitsVerdict) {
  become_member();
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "my verdict"});
  step();
  const control::LinkReport report = std::get<control::LinkReport>(scheduler_.control());
  EXPECT_EQ(report.node, 50U);
  EXPECT_EQ(report.cause, "reset");
  control::Failure failure{.why = Status(Code::kServerLost, "the scheduler's verdict")};
  say(failure);
  expect_failed(Code::kServerLost, "the scheduler's verdict");
}

TEST_F(MembershipClientTest, WithoutAVerdictFromTheSchedulerItsOwnHolds) {
  become_member();
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the first"});
  membership_.report_broken(51, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the second"});
  pass(2900ms);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass(200ms);
  expect_failed(Code::kServerLost, "the first; and nothing was heard of the scheduler for 3.");
}

TEST_F(MembershipClientTest, OfASchedulerThatIsHeardTheVerdictSaysNothing) {
  become_member();
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the first"});
  for (int i = 0; i < 31; ++i) {
    jump(100ms);
    say(fake::heartbeat());
  }
  EXPECT_EQ(membership_.status().cause(), "the first");
}

// The scheduler may wait for reports of other links, since a server may have a standby.
TEST_F(MembershipClientTest, AReplicatedJobsVerdictWaitsLonger) {
  become_member();
  Roster next = fake::roster();
  next.epoch = 2;
  next.settings.replicas = 2;
  say(next);
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the first"});
  const auto pass_and_hear = [this](int steps) {
    for (int i = 0; i < steps; ++i) {
      jump(100ms);
      say(fake::heartbeat());
    }
  };
  pass_and_hear(79);
  EXPECT_EQ(membership_.state(), State::kMember);
  pass_and_hear(2);
  expect_failed(Code::kServerLost, "the first");
}

TEST_F(MembershipClientTest, DepartedServerIsNotLost) {
  become_member();
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the first"});
  shard_leaves();
  // Its link may break in the same iteration; no later roster repeats the departure.
  membership_.report_broken(50, {Code::kLinkBroken, "reset"}, {Code::kServerLost, "the second"});
  pass(3100ms);
  EXPECT_EQ(membership_.state(), State::kMember);
}

// ---- resigning

TEST_F(MembershipClientTest, ResigningMemberAwaitsSchedulerAnswer) {
  become_member();
  scheduler_.controls();
  membership_.resign({Code::kResource, "out of memory: wanted 7 bytes more"});
  EXPECT_FALSE(membership_.over());
  step();
  const control::Message told = scheduler_.control();
  ASSERT_TRUE(control::is<control::Failure>(told));
  EXPECT_EQ(std::get<control::Failure>(told).why.code(), Code::kResource);
  EXPECT_EQ(std::get<control::Failure>(told).why.cause(), "out of memory: wanted 7 bytes more");
  control::Failure answer{.why = Status(Code::kPeerLost, "worker 1 is lost")};
  say(answer);
  expect_failed(Code::kResource, "wanted 7 bytes");  // Its own reason is kept.
}

TEST_F(MembershipClientTest, UnansweredResignationTimesOut) {
  become_member();
  membership_.resign({Code::kInterrupted, "a signal came"});
  pass(400ms);
  EXPECT_FALSE(membership_.over());
  EXPECT_LE(membership_.next_due(), clock_.now() + 100ms);
  pass(200ms);
  expect_failed(Code::kInterrupted, "a signal came");
}

TEST_F(MembershipClientTest, UnjoinedMemberResignsAtOnce) {
  step();
  membership_.resign({Code::kInterrupted, "a signal came"});
  expect_failed(Code::kInterrupted, "a signal came");
}

// ---- leaving

TEST_F(MembershipClientTest, LeavesInOrder) {
  become_member();
  membership_.leave();
  EXPECT_EQ(membership_.state(), State::kLeaving);
  step();
  EXPECT_TRUE(control::is<control::Leave>(scheduler_.control()));
  say(fake::leave());
  EXPECT_EQ(membership_.state(), State::kLeft);
  EXPECT_TRUE(membership_.over());
  EXPECT_TRUE(membership_.status().ok());
  EXPECT_EQ(membership_.next_due(), Time::max());
  membership_.fail({Code::kCancelled, "too late"});
  EXPECT_EQ(membership_.state(), State::kLeft) << "out is out";
}

TEST_F(MembershipClientTest, AnUnansweredLeaveEnds) {
  become_member();
  membership_.leave();
  for (int i = 0; i < 7; ++i) {
    scheduler_.say(fake::heartbeat());
    pass(1s);
  }
  expect_failed(Code::kTimeout, "did not answer the request to leave");
}

TEST_F(MembershipClientTest, ABreakAfterTheEndChangesNothing) {
  become_member();
  membership_.leave();
  say(fake::leave());
  scheduler_.break_link();
  step();
  EXPECT_EQ(membership_.state(), State::kLeft);
}

TEST_F(MembershipClientTest, OnlyAMemberCanLeave) {
  membership_.leave();
  EXPECT_EQ(membership_.state(), State::kGreeting);
}

}  // namespace
}  // namespace stretto
