// SPDX-License-Identifier: Apache-2.0
// The scheduler's phases in virtual time, with simulated nodes: forming, running, leaving and
// failing.
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "common/log.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::AllOf;
using testing::HasSubstr;

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() {
    config_.job.heartbeat = 500ms;
    EXPECT_TRUE(scheduler_.listen("127.0.0.1:9000").ok());
    set_log_level(Level::kError);
  }
  ~SchedulerTest() override { set_log_level(Level::kInfo); }

  void step() {
    scheduler_.step(Duration::zero());
    scheduler_.step(Duration::zero());
  }
  void say(FarEnd& far, const control::Message& message) {
    far.say(message);
    step();
  }
  std::vector<FarEnd*> everybody() { return {&server_, &first_, &second_}; }
  control::Message come(FarEnd& far, Role role, Rank rank) {
    far.connect();
    say(far, fake::hello(role, rank));
    const auto heard = far.controls();
    EXPECT_FALSE(heard.empty());
    if (heard.empty()) return {};
    far.node = std::get<control::Welcome>(heard.front()).node;
    return heard.front();
  }
  void begin() {
    come(server_, Role::kServer, 0);
    come(first_, Role::kWorker, 0);
    come(second_, Role::kWorker, 1);
    for (FarEnd* far : everybody()) far->controls();
  }
  /// Lets time pass while these nodes send heartbeats.
  void pass(Duration time, const std::vector<FarEnd*>& alive) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(std::min(end, clock_.now() + 100ms));
      for (FarEnd* far : alive) far->say(fake::heartbeat());
    }
  }
  static control::Declare declare(const TensorSpec& spec) { return {.spec = spec}; }
  static control::LinkReport report(NodeId node) { return {.node = node, .cause = "reset"}; }
  /// Expects that each of these nodes has received the job's failure with its cause.
  static void expect_told(const std::vector<FarEnd*>& nodes, Code code, const char* says) {
    for (FarEnd* far : nodes) {
      const auto heard = far->controls();
      ASSERT_FALSE(heard.empty());
      ASSERT_TRUE(control::is<control::Failure>(heard.back()));
      EXPECT_EQ(std::get<control::Failure>(heard.back()).why.code(), code);
      EXPECT_THAT(std::get<control::Failure>(heard.back()).why.cause(), HasSubstr(says));
    }
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = fake::config(Role::kScheduler, -1);
  Scheduler scheduler_{config_, fake::scripted_transport(wire_), clock_};
  FarEnd server_{wire_, 101, 0};
  FarEnd first_{wire_, 102, 0};
  FarEnd second_{wire_, 103, 0};
};

// ---- gathering

TEST_F(SchedulerTest, WelcomesEachAndTellsTheRosterWhenAllAreThere) {
  EXPECT_EQ(std::get<control::Welcome>(come(second_, Role::kWorker, 1)).rank, 1U);
  come(server_, Role::kServer, 0);
  EXPECT_TRUE(server_.controls().empty());
  first_.connect();
  say(first_, fake::hello(Role::kWorker, 0));
  const auto heard = first_.controls();
  ASSERT_EQ(heard.size(), 2U);
  ASSERT_TRUE(control::is<control::Welcome>(heard[0]));
  const auto* roster = std::get_if<Roster>(&heard[1]);
  ASSERT_NE(roster, nullptr);
  EXPECT_EQ(roster->epoch, 1U);
  EXPECT_EQ(roster->workers, 2U);
  EXPECT_EQ(roster->members.size(), 3U);
  EXPECT_EQ(roster->find(server_.node)->address, "host:7000");
  EXPECT_EQ(roster->find(second_.node)->describe(), "worker 1");
  EXPECT_TRUE(control::is<Roster>(second_.control()));
  EXPECT_TRUE(control::is<Roster>(server_.control()));
}

TEST_F(SchedulerTest, DisconnectBeforeStartFreesPlace) {
  come(first_, Role::kWorker, 0);
  const NodeId before = first_.node;
  first_.break_link();
  step();
  FarEnd again(wire_, 110, 0);
  come(again, Role::kWorker, 0);
  EXPECT_NE(again.node, before);
  come(server_, Role::kServer, 0);
  come(second_, Role::kWorker, 1);
  EXPECT_TRUE(control::is<Roster>(again.control()));
}

TEST_F(SchedulerTest, ARefusedHelloIsToldWhyAndChangesNothing) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  hello.token = "wrong";
  first_.connect();
  say(first_, hello);
  EXPECT_EQ(std::get<control::Fault>(first_.control()).why.code(), Code::kRefused);
  FarEnd right(wire_, 110, 0);
  EXPECT_TRUE(control::is<control::Welcome>(come(right, Role::kWorker, 0)));
}

TEST_F(SchedulerTest, RendezvousTimeoutNamesMissingMembers) {
  come(first_, Role::kWorker, 0);
  pass(9900ms, {&first_});
  first_.controls();
  pass(300ms, {&first_});
  const auto heard = first_.controls();
  const auto failure = std::ranges::find_if(heard, control::is<control::Failure>);
  ASSERT_NE(failure, heard.end());
  EXPECT_EQ(std::get<control::Failure>(*failure).why.code(), Code::kRendezvousTimeout);
  EXPECT_THAT(std::get<control::Failure>(*failure).why.cause(),
              HasSubstr("missing: server 0, worker 1"));
  pass(1s, {&first_});
  EXPECT_TRUE(scheduler_.over());
  EXPECT_EQ(scheduler_.status().peer(), "server 0, worker 1");
}

TEST_F(SchedulerTest, OnlyMembersAreHeard) {
  begin();
  FarEnd late(wire_, 110, 0);
  late.connect();
  say(late, fake::hello(Role::kWorker, 1));
  EXPECT_TRUE(control::is<control::Fault>(late.control())) << "that place is taken";
  say(late, fake::barrier(1));
  say(first_, fake::barrier(1));
  EXPECT_TRUE(first_.controls().empty());
}

// ---- running

TEST_F(SchedulerTest, HeartbeatNamesWorkersBlockedElsewhere) {
  begin();
  control::Heartbeat first = fake::heartbeat();
  first.waits_in = "push_pull 'x'";
  control::Heartbeat second = fake::heartbeat();
  second.waits_in = "barrier";
  say(first_, first);
  say(second_, second);
  EXPECT_EQ(std::get<control::Heartbeat>(second_.control()).elsewhere,
            "worker 0 waits in push_pull 'x'");
  first_.controls();
  control::Leave leave;
  say(second_, leave);
  first_.controls();
  say(first_, first);
  EXPECT_EQ(std::get<control::Heartbeat>(first_.control()).elsewhere, "");
}

TEST_F(SchedulerTest, AnswersHeartbeats) {
  begin();
  say(first_, fake::heartbeat());
  EXPECT_EQ(std::get<control::Heartbeat>(first_.control()).number, 5U);
}

TEST_F(SchedulerTest, DeclaringTwiceGivesOneIdAndOnePlace) {
  begin();
  say(second_, declare(fake::spec("x", Dtype::kF32, 100)));
  say(first_, declare(fake::spec("x", Dtype::kF32, 100)));
  const control::Declared one = std::get<control::Declared>(second_.control());
  const control::Declared two = std::get<control::Declared>(first_.control());
  EXPECT_TRUE(std::ranges::equal(control::encode(one).bytes(), control::encode(two).bytes()));
  EXPECT_EQ(one.name, "x");
  EXPECT_NE(one.tensor, 0U);
  ASSERT_EQ(one.owners.size(), 1U);
  EXPECT_EQ(one.owners[0].owner, server_.node);
}

TEST_F(SchedulerTest, MismatchReachesAllDeclarers) {
  begin();
  say(first_, declare(fake::spec("x", Dtype::kF32, 100)));
  first_.controls();
  say(second_, declare(fake::spec("x", Dtype::kF32, 101)));
  for (FarEnd* far : {&first_, &second_}) {
    const control::Fault fault = std::get<control::Fault>(far->control());
    EXPECT_EQ(fault.why.code(), Code::kMismatch);
    EXPECT_EQ(fault.name, "x");
    EXPECT_NE(fault.tensor, 0U);
    EXPECT_THAT(fault.why.cause(), HasSubstr("worker 1 declared f32[101]"));
  }
  EXPECT_FALSE(scheduler_.over());
}

TEST_F(SchedulerTest, ASpecThatMakesNoSenseIsAFaultByName) {
  begin();
  say(first_, declare(fake::spec("x", Dtype{99}, 100)));
  const control::Fault fault = std::get<control::Fault>(first_.control());
  EXPECT_EQ(fault.name, "x");
  EXPECT_EQ(fault.why.code(), Code::kInvalidArgument);
}

TEST_F(SchedulerTest, ATensorOfMorePartsThanCanBeCountedIsRefused) {
  config_.job.part_bytes = 64;
  begin();
  say(first_, declare(fake::spec("x", Dtype::kF64, kMaxParts * 8)));
  const control::Fault fault = std::get<control::Fault>(first_.control());
  EXPECT_EQ(fault.why.code(), Code::kInvalidArgument);
  EXPECT_THAT(fault.why.cause(), HasSubstr("more than " + std::to_string(kMaxParts) + " parts"));
  say(first_, declare(fake::spec("x", Dtype::kF64, kMaxParts * 8 - 1)));
  EXPECT_TRUE(control::is<control::Declared>(first_.control()));
}

TEST_F(SchedulerTest, AMemberTakesNoSecondPlace) {
  come(first_, Role::kWorker, 0);
  say(first_, fake::hello(Role::kWorker, 1));
  EXPECT_TRUE(first_.closed());
  EXPECT_TRUE(control::is<control::Welcome>(come(second_, Role::kWorker, 1)));
}

TEST_F(SchedulerTest, ABarrierOpensForAllWhenTheLastHasCome) {
  begin();
  say(first_, fake::barrier(1));
  say(first_, fake::barrier(1));
  EXPECT_TRUE(first_.controls().empty());
  say(second_, fake::barrier(1));
  EXPECT_EQ(std::get<control::Barrier>(first_.control()).number, 1U);
  EXPECT_EQ(std::get<control::Barrier>(second_.control()).number, 1U);
  EXPECT_TRUE(server_.controls().empty());
  say(second_, fake::barrier(1));
  EXPECT_EQ(std::get<control::Barrier>(second_.control()).number, 1U)
      << "a repeated word is answered alone";
  EXPECT_TRUE(first_.controls().empty());
}

TEST_F(SchedulerTest, ABarrierOutOfTurnEndsTheLink) {
  begin();
  say(first_, fake::barrier(3));
  EXPECT_THAT(std::get<control::Fault>(first_.control()).why.cause(),
              HasSubstr("barrier 3 is out of turn"));
}

TEST_F(SchedulerTest, DepartedWorkerFailsBarrierForWaiters) {
  begin();
  say(first_, fake::barrier(1));
  say(second_, fake::leave());
  const auto heard = first_.controls();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_TRUE(control::is<Roster>(heard[0]));
  EXPECT_EQ(std::get<control::Fault>(heard[1]).name, "barrier");
  EXPECT_EQ(std::get<control::Fault>(heard[1]).why.code(), Code::kPeerLost);
  EXPECT_EQ(std::get<control::Fault>(heard[1]).why.peer(), "worker 1");
  say(first_, fake::barrier(1));
  EXPECT_EQ(std::get<control::Fault>(first_.control()).name, "barrier")
      << "and again for who tries again";
}

TEST_F(SchedulerTest, DataFramesAreRefused) {
  begin();
  first_.epoch = 1;
  first_.send(fake::push_header({1, 0}, 1), fake::bytes_of({1}));
  second_.epoch = 1;
  wire::Header call;
  call.kind = wire::Kind::kCall;
  call.total = wire::kMaxWholeBytes;  // The first slice of a call.
  second_.send(call, fake::bytes_of({1}));
  step();
  EXPECT_THAT(std::get<control::Fault>(first_.control()).why.cause(),
              HasSubstr("takes no data frames"));
  EXPECT_THAT(std::get<control::Fault>(second_.control()).why.cause(),
              HasSubstr("takes no data frames"));
}

// ---- leaving

TEST_F(SchedulerTest, ALeaveIsAnsweredAndToldToTheOthers) {
  begin();
  say(second_, fake::leave());
  EXPECT_TRUE(control::is<control::Leave>(second_.controls().front()));
  const control::Message told = first_.control();
  const auto* roster = std::get_if<Roster>(&told);
  ASSERT_NE(roster, nullptr);
  EXPECT_EQ(roster->epoch, 2U);
  EXPECT_EQ(roster->since, 1U);
  ASSERT_EQ(roster->members.size(), 1U) << "only what has changed";
  EXPECT_TRUE(roster->find(second_.node)->left);
  second_.break_link();
  step();
  pass(10s, {&first_, &server_});
  EXPECT_FALSE(scheduler_.over()) << "who has left may go and be silent";
}

TEST_F(SchedulerTest, BatchesLeavesOfOneTurnForStayers) {
  constexpr std::uint32_t kWorkers = 20;
  constexpr std::uint32_t kLeave = 15;
  fake::Wire wire;
  const Config config = fake::config(Role::kScheduler, -1, kWorkers);
  Scheduler scheduler(config, fake::scripted_transport(wire), clock_);
  std::deque<FarEnd> all;
  for (std::uint32_t i = 0; i <= kWorkers; ++i) {
    FarEnd& far = all.emplace_back(wire, 200 + i, 0);
    far.connect();
    far.say(i < kWorkers ? fake::hello(Role::kWorker, i, 0, kWorkers)
                         : fake::hello(Role::kServer, 0, 0, kWorkers));
    scheduler.step(Duration::zero());
    scheduler.step(Duration::zero());
    far.node = std::get<control::Welcome>(far.controls().front()).node;
  }
  scheduler.step(Duration::zero());
  for (FarEnd& far : all) far.controls();
  for (std::uint32_t i = 0; i < kLeave; ++i) all[i].say(fake::leave());
  scheduler.step(Duration::zero());
  scheduler.step(Duration::zero());
  for (std::uint32_t i = 0; i <= kWorkers; ++i) {
    const control::Message heard = all[i].control();
    ASSERT_EQ(control::is<control::Leave>(heard), i < kLeave) << i;
    if (i < kLeave) continue;
    ASSERT_TRUE(control::is<Roster>(heard));
    EXPECT_EQ(std::get<Roster>(heard).epoch, 2U);
    EXPECT_EQ(std::get<Roster>(heard).members.size(), kLeave);
  }
}

TEST_F(SchedulerTest, FailsJobIfAddressesExceedMessage) {
  constexpr std::uint32_t kShards = 1200;
  fake::Wire wire;
  Config config = fake::config(Role::kScheduler, -1, 1);
  config.shards = kShards;
  Scheduler scheduler(config, fake::scripted_transport(wire), clock_);
  std::deque<FarEnd> all;
  for (std::uint32_t i = 0; i <= kShards; ++i) {
    control::Hello hello = fake::hello(i < kShards ? Role::kServer : Role::kWorker, 0, 0, 1);
    hello.shards = kShards;
    hello.shard = i < kShards ? i : 0;
    hello.address = std::string(240, 'h') + ":7000";
    FarEnd& far = all.emplace_back(wire, 200 + i, 0);
    far.connect();
    far.say(hello);
    scheduler.step(Duration::zero());
    scheduler.step(Duration::zero());
  }
  const auto heard = all.back().controls();
  ASSERT_TRUE(control::is<control::Failure>(heard.back()));
  EXPECT_EQ(std::get<control::Failure>(heard.back()).why.code(), Code::kResource);
  EXPECT_THAT(std::get<control::Failure>(heard.back()).why.cause(),
              AllOf(HasSubstr("1201 nodes"), HasSubstr("at most 262144"), HasSubstr("shards")));
}

TEST_F(SchedulerTest, BarrierFailureReachesOnlyWaiters) {
  begin();
  say(second_, fake::leave());
  for (FarEnd* far : everybody()) far->controls();
  say(first_, fake::barrier(1));
  EXPECT_EQ(std::get<control::Fault>(first_.control()).name, "barrier");
  EXPECT_TRUE(second_.controls().empty());
  EXPECT_TRUE(server_.controls().empty());
}

TEST_F(SchedulerTest, DismissesServersOnceAllWorkersLeave) {
  begin();
  say(first_, fake::leave());
  say(second_, fake::leave());
  EXPECT_TRUE(control::is<control::Leave>(server_.controls().back()));
  EXPECT_FALSE(scheduler_.over());
  server_.break_link();
  step();
  EXPECT_FALSE(scheduler_.over()) << "the answers to the workers may still be on their way";
  first_.break_link();
  second_.break_link();
  step();
  EXPECT_TRUE(scheduler_.over());
  EXPECT_TRUE(scheduler_.status().ok());
}

TEST_F(SchedulerTest, AServerThatDoesNotGoIsNotWaitedForLong) {
  begin();
  say(first_, fake::leave());
  say(second_, fake::leave());
  pass(JobSettings().dead_after - 100ms, {&server_});
  EXPECT_FALSE(scheduler_.over()) << "it may have been silent, and come back";
  pass(200ms, {&server_});
  EXPECT_TRUE(scheduler_.over());
  EXPECT_TRUE(scheduler_.status().ok());
}

// ---- failing

TEST_F(SchedulerTest, ABrokenWorkerIsLostAndAllAreTold) {
  begin();
  second_.break_link();
  step();
  expect_told({&first_, &server_}, Code::kPeerLost, "worker 1 is lost: the connection was reset");
  EXPECT_FALSE(scheduler_.over()) << "its words need time to leave";
  pass(600ms, {&first_, &server_});
  EXPECT_TRUE(scheduler_.over());
  EXPECT_EQ(scheduler_.status().peer(), "worker 1");
}

TEST_F(SchedulerTest, ABrokenServerIsAServerLost) {
  begin();
  server_.break_link();
  step();
  expect_told({&first_, &second_}, Code::kServerLost, "server 0 is lost");
}

TEST_F(SchedulerTest, ReportedFailureBecomesLossCause) {
  begin();
  control::Failure message{.why = Status(Code::kResource, "out of memory: wanted 7 bytes more")};
  say(server_, message);
  expect_told({&first_, &second_, &server_}, Code::kServerLost,
              "server 0 is lost: out of memory: wanted 7 bytes more");
}

TEST_F(SchedulerTest, EndsAsSoonAsAllHaveGone) {
  begin();
  for (FarEnd* far : everybody()) far->break_link();
  step();
  EXPECT_TRUE(scheduler_.over());
}

TEST_F(SchedulerTest, ASilentNodeIsLostAfterItsTime) {
  begin();
  pass(4800ms, {&first_, &server_});
  EXPECT_EQ(scheduler_.status(), Status());
  pass(400ms, {&first_, &server_});
  EXPECT_EQ(scheduler_.status().code(), Code::kPeerLost);
  EXPECT_EQ(scheduler_.status().peer(), "worker 1");
  EXPECT_THAT(scheduler_.status().cause(), HasSubstr("nothing heard of it for 5"));
}

TEST_F(SchedulerTest, SuspendedSchedulerExcusesSilence) {
  begin();
  clock_.advance_to(clock_.now() + 1h);
  step();
  pass(4s, {});
  EXPECT_TRUE(scheduler_.status().ok());
  pass(2s, {});
  EXPECT_FALSE(scheduler_.status().ok()) << "but from then on it counts";
}

TEST_F(SchedulerTest, BrokenLinkBetweenLiveNodesEndsJob) {
  begin();
  say(first_, report(server_.node));
  pass(1900ms, {&first_, &second_});
  EXPECT_TRUE(scheduler_.status().ok()) << "the cause may yet show";
  pass(300ms, {&first_, &second_});
  EXPECT_THAT(scheduler_.status().cause(), HasSubstr("worker 0 lost its link to server 0"));
  EXPECT_EQ(scheduler_.status().peer(), "worker 0, server 0");
}

TEST_F(SchedulerTest, HeartbeatsFromBothEndWaitForCause) {
  begin();
  say(first_, report(server_.node));
  pass(300ms, everybody());
  EXPECT_THAT(scheduler_.status().cause(), HasSubstr("worker 0 lost its link to server 0"));
}

TEST_F(SchedulerTest, DropsReportOnceSubjectIsLost) {
  begin();
  say(first_, report(second_.node));
  second_.break_link();
  step();
  EXPECT_EQ(scheduler_.status().code(), Code::kPeerLost) << "the true cause";
}

TEST_F(SchedulerTest, IgnoresReportsOnDepartedOrUnknownNodes) {
  begin();
  say(second_, fake::leave());
  say(first_, report(second_.node));
  say(first_, report(999));
  pass(5s, {&first_, &server_});
  EXPECT_TRUE(scheduler_.status().ok());
}

TEST_F(SchedulerTest, CanBeStoppedWithWordsForAll) {
  begin();
  scheduler_.stop({Code::kInterrupted, "asked to end by a signal"});
  step();
  expect_told(everybody(), Code::kInterrupted, "asked to end by a signal");
  EXPECT_EQ(scheduler_.status().code(), Code::kInterrupted);
  scheduler_.stop({Code::kCancelled, "again"});
  EXPECT_EQ(scheduler_.status().code(), Code::kInterrupted) << "the first reason stays";
}

}  // namespace
}  // namespace stretto
