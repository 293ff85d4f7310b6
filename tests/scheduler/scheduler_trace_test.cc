// SPDX-License-Identifier: Apache-2.0
// The stages of a trace at a scheduler: the requester is told, and then only time advances the
// stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::ElementsAre;
using Action = control::TraceCommand::Action;

class SchedulerTraceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(scheduler_.listen("127.0.0.1:9000").ok());
    server_.connect();
    server_.say(fake::hello(Role::kServer, 0, 0, 1));
    worker_.connect();
    worker_.say(fake::hello(Role::kWorker, 0, 0, 1));
    step();
    ASSERT_EQ(scheduler_.phase(), "running");
    worker_.controls();
    server_.controls();
  }
  void step() {
    scheduler_.step(Duration::zero());
    scheduler_.step(Duration::zero());
  }
  void pass(Duration time) {
    clock_.advance_to(clock_.now() + time);
    step();
  }
  /// The trace orders that a node has received since the last call.
  static std::vector<Action> orders(FarEnd& far) {
    std::vector<Action> told;
    for (const control::Message& message : far.controls()) {
      if (control::is<control::TraceCommand>(message))
        told.push_back(std::get<control::TraceCommand>(message).action);
    }
    return told;
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = fake::config(Role::kScheduler, -1, 1);
  Scheduler scheduler_{config_, fake::scripted_transport(wire_), clock_};
  FarEnd server_{wire_, 101, 0};
  FarEnd worker_{wire_, 102, 0};
};

TEST_F(SchedulerTraceTest, TraceAdvancesByTimeWithoutViewer) {
  ASSERT_TRUE(scheduler_.start_trace(5, 60).ok());
  step();
  EXPECT_THAT(orders(worker_), ElementsAre(control::TraceCommand::Action::kStart));
  EXPECT_THAT(orders(server_), ElementsAre(control::TraceCommand::Action::kStart));
  pass(100ms);
  EXPECT_THAT(orders(worker_), ElementsAre(control::TraceCommand::Action::kSend));
  EXPECT_THAT(orders(server_), ElementsAre(control::TraceCommand::Action::kSend));
}

TEST_F(SchedulerTraceTest, WakesTheLoopOnlyWhileThereIsOne) {
  pass(10ms);
  EXPECT_GT(scheduler_.next_due(), clock_.now() + 50ms);
  ASSERT_TRUE(scheduler_.start_trace(5, 60).ok());
  EXPECT_LE(scheduler_.next_due(), clock_.now() + 20ms);
}

}  // namespace
}  // namespace stretto
