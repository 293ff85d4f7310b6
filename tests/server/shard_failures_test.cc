// SPDX-License-Identifier: Apache-2.0
// A shard when a worker leaves, loses its link, stalls or ends the job: all waiting workers are
// told in time, by an error that names the missing worker.
#include "server/shard.h"
#include "tests/server/shard_fixture.h"

namespace stretto::fake {
namespace {

using testing::HasSubstr;
using testing::Not;

// ---- leaving

TEST_F(ShardTest, DepartedWorkerFailsOpenRound) {
  begin();
  open();
  push(first_, 1, {1, 2});
  worker_leaves(second_, 1);
  const Status status = fault_at(first_);
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_EQ(status.peer(), "worker 1");
  EXPECT_THAT(status.cause(), HasSubstr("tensor 'grads', round 1: worker 1 has left the job"));
}

TEST_F(ShardTest, RoundAfterDepartureFailsAtOnce) {
  begin();
  worker_leaves(second_, 1);
  open_at(first_, 1, spec("grads", Dtype::kF32, 2));
  push(first_, 1, {1, 2});
  EXPECT_EQ(fault_at(first_).code(), Code::kPeerLost);
}

TEST_F(ShardTest, DepartedWorkersContributionCounts) {
  begin();
  open();
  push(second_, 1, {1, 2}, 0);
  worker_leaves(second_, 1);
  EXPECT_TRUE(first_.controls().empty());
  push(first_, 1, {1, 2});
  EXPECT_EQ(first_.data().size(), 1U);
  EXPECT_TRUE(first_.controls().empty());
}

TEST_F(ShardTest, BoundStopsWaitingForDepartedWorker) {
  begin();
  open({.mode = Mode::kBounded, .bound = 0});
  push(first_, 1, {1, 2});
  EXPECT_TRUE(first_.data().empty());
  worker_leaves(second_, 1);
  EXPECT_EQ(first_.datum().header.kind, wire::Kind::kValue);
  EXPECT_TRUE(first_.controls().empty());
}

TEST_F(ShardTest, BrokenLinkAfterLeaveIsNotReported) {
  begin();
  second_.say(leave());
  second_.break_link();
  step();
  scheduler_.controls();
  pass(10s);
  for (const control::Message& message : scheduler_.controls()) {
    EXPECT_FALSE(control::is<control::LinkReport>(message));
  }
  EXPECT_FALSE(shard_->over());
}

// ---- broken links

TEST_F(ShardTest, ABrokenLinkIsReportedAndTheSchedulerDecides) {
  begin();
  scheduler_.controls();
  second_.break_link();
  step();
  const control::Message report = scheduler_.control();
  EXPECT_EQ(std::get<control::LinkReport>(report).node, 11U);
  EXPECT_EQ(std::get<control::LinkReport>(report).cause, "the connection was reset");
  EXPECT_FALSE(shard_->over());
  control::Failure failure{.why = Status(Code::kPeerLost, "worker 1 is lost: it crashed")};
  say_scheduler(failure);
  EXPECT_TRUE(shard_->over());
  EXPECT_EQ(shard_->status().cause(), "worker 1 is lost: it crashed");
}

TEST_F(ShardTest, WithoutADecisionABrokenLinkIsItsWorkerLost) {
  begin();
  second_.break_link();
  step();
  pass(2500ms);
  EXPECT_FALSE(shard_->over());
  pass(1s);
  ASSERT_TRUE(shard_->over());
  EXPECT_EQ(shard_->status().code(), Code::kPeerLost);
  EXPECT_EQ(shard_->status().peer(), "worker 1");
}

TEST_F(ShardTest, ABrokenLinkToTheSchedulerEndsIt) {
  begin();
  scheduler_.break_link();
  step();
  EXPECT_TRUE(shard_->over());
  EXPECT_EQ(shard_->status().code(), Code::kSchedulerLost);
}

TEST_F(ShardTest, TheSchedulersLeaveEndsItInOrder) {
  begin();
  say_scheduler(leave());
  EXPECT_TRUE(shard_->over());
  EXPECT_TRUE(shard_->status().ok());
}

TEST_F(ShardTest, CanBeStopped) {
  begin();
  scheduler_.controls();
  shard_->stop({Code::kInterrupted, "a signal came"});
  EXPECT_FALSE(shard_->over()) << "the scheduler is told why";
  step();
  EXPECT_EQ(std::get<control::Failure>(scheduler_.controls().back()).why.cause(), "a signal came");
  scheduler_.break_link();
  step();
  EXPECT_TRUE(shard_->over());
  EXPECT_EQ(shard_->status().code(), Code::kInterrupted);
}

// ---- stalls

class StallTest : public ShardTest {
 protected:
  StallTest() {
    roster_.settings.stall_error = 6s;
    begin();
  }
  /// The log output while `time` passes.
  std::string log_during(Duration time) {
    testing::internal::CaptureStderr();
    pass(time);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(StallTest, ARoundThatWaitsIsEndedWithTheNames) {
  open();
  push(first_, 1, {1, 2});
  EXPECT_EQ(log_during(3500ms), "") << "the scheduler says why";
  EXPECT_TRUE(first_.controls().empty());
  pass(4s);
  const Status status = fault_at(first_);
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.peer(), "worker 1");
  EXPECT_THAT(status.cause(), HasSubstr("for worker 1"));
  EXPECT_EQ(log_during(10s), "") << "nobody waits any more";
}

class ImpatientTest : public ShardTest {
 protected:
  ImpatientTest() {
    roster_.settings.stall_error = 3s;
    begin();
  }
};

TEST_F(ImpatientTest, TheLimitOfAnErrorHolds) {
  open();
  push(first_, 1, {1, 2});
  pass(2500ms);
  EXPECT_TRUE(first_.controls().empty());
  pass(2s);
  EXPECT_EQ(fault_at(first_).code(), Code::kTimeout);
}

TEST_F(StallTest, CompletedRoundReportsNoStall) {
  open();
  push(first_, 1, {1, 2});
  push(second_, 1, {1, 2});
  EXPECT_EQ(log_during(10s), "");
  EXPECT_TRUE(first_.controls().empty());
}

TEST_F(StallTest, BoundedModeNamesStragglerNotWaiter) {
  open({.mode = Mode::kBounded, .bound = 0});
  push(first_, 1, {1, 2});
  pass(8s);
  const Status status = fault_at(first_);
  EXPECT_EQ(status.peer(), "worker 1");
  EXPECT_THAT(status.cause(), Not(HasSubstr("worker 0")));
}

TEST_F(StallTest, AfterAStallTheSilentWorkersShareIsStillTaken) {
  open();
  push(first_, 1, {1, 2});
  pass(8s);
  EXPECT_EQ(fault_at(first_).code(), Code::kTimeout);
  push(second_, 1, {1, 2});
  EXPECT_EQ(wire::ValueFacts::of(second_.datum().header).version, 1U);
  EXPECT_TRUE(first_.data().empty()) << "its operation has ended";
}

// ---- blockers

// The total time for which a worker has blocked rounds, as reported by heartbeats.
Duration held_by(FarEnd& scheduler, Rank rank) {
  Duration held{};
  for (const control::Message& message : scheduler.controls()) {
    const auto* beat = std::get_if<control::Heartbeat>(&message);
    if (beat == nullptr) continue;
    for (const control::Held& told : beat->held) {
      if (told.rank == rank) held = told.time;
    }
  }
  return held;
}

TEST_F(ShardTest, HeartbeatNamesStragglersOfLongWait) {
  begin();
  open();
  scheduler_.controls();
  push(first_, 1, {1, 2});
  pass(500ms);
  for (const control::Message& message : scheduler_.controls()) {
    EXPECT_EQ(std::get<control::Heartbeat>(message).long_waits.size(), 0U) << "not long yet";
  }
  pass(4s);
  const control::Heartbeat waiting = std::get<control::Heartbeat>(scheduler_.controls().back());
  ASSERT_EQ(waiting.long_waits.size(), 1U);
  EXPECT_EQ(waiting.long_waits[0].tensor, "grads");
  EXPECT_EQ(waiting.long_waits[0].round, 1U);
  EXPECT_GE(waiting.long_waits[0].age, 3s);
  EXPECT_THAT(waiting.long_waits[0].ranks, testing::ElementsAre(1));
  push(second_, 1, {1, 2});
  pass(2s);
  EXPECT_EQ(std::get<control::Heartbeat>(scheduler_.controls().back()).long_waits.size(), 0U);
}

TEST_F(ShardTest, OverlappingWaitsCountOnceForStraggler) {
  begin();
  open();
  for (FarEnd* worker : {&first_, &second_}) {
    open_at(*worker, 2, spec("more", Dtype::kF32, 2, {}));
  }
  const auto push_both = [this](FarEnd& worker, Duration between) {
    push(worker, 1, {1, 2});
    pass(between);
    worker.send(push_header({2, 0}, 1, wire::kWantsValue), bytes_of({1, 2}));
    step();
  };
  push_both(first_, 1s);  // They wait from 0 s and from 1 s on,
  pass(2s);               // until the other worker's pushes arrive at 3 s and 4 s.
  push_both(second_, 1s);
  pass(2s);
  EXPECT_EQ(held_by(scheduler_, 1), 4s);
  EXPECT_EQ(held_by(scheduler_, 0), 0s);
}

}  // namespace
}  // namespace stretto::fake
