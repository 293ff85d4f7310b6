// SPDX-License-Identifier: Apache-2.0
// How long the scheduler waits for a disconnected member to reconnect, by what other members report
// of their links to it.
#include <gtest/gtest.h>

#include "common/log.h"
#include "scheduler/scheduler.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using fake::FarEnd;
using ReportState = control::LinkReport::State;

class MendingSchedulerTest : public testing::Test {
 protected:
  MendingSchedulerTest() {
    EXPECT_TRUE(scheduler_.listen("127.0.0.1:9000").ok());
    set_log_level(Level::kError);
    come(server_, Role::kServer, 0);
    come(first_, Role::kWorker, 0);
    come(second_, Role::kWorker, 1);
  }
  ~MendingSchedulerTest() override { set_log_level(Level::kInfo); }

  void step() {
    scheduler_.step(Duration::zero());
    scheduler_.step(Duration::zero());
  }
  void say(FarEnd& far, const control::Message& message) {
    far.say(message);
    step();
  }
  void come(FarEnd& far, Role role, Rank rank) {
    far.connect();
    control::Hello hello = fake::hello(role, rank);
    hello.session = far.link();
    say(far, hello);
    far.node = std::get<control::Welcome>(far.controls().at(0)).node;
  }
  /// Lets time pass while the two other members send heartbeats.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(std::min(end, clock_.now() + 100ms));
      for (FarEnd* far : {&server_, &first_}) far->say(fake::heartbeat());
    }
  }
  static Config mending() {
    Config config = fake::config(Role::kScheduler, -1);
    config.remakes_links = true;
    return config;
  }
  void server_tells(ReportState state) {
    say(server_, control::LinkReport{.node = second_.node, .state = state});
  }
  void expect_lost(bool lost) {
    EXPECT_EQ(scheduler_.status().code(), lost ? Code::kPeerLost : Code::kOk);
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = mending();
  Scheduler scheduler_{config_, fake::scripted_transport(wire_), clock_};
  FarEnd server_{wire_, 101, 0};
  FarEnd first_{wire_, 102, 0};
  FarEnd second_{wire_, 103, 0};
};

TEST_F(MendingSchedulerTest, LosingSchedulerLinkStartsGracePeriod) {
  second_.break_link();
  pass(3800ms);
  expect_lost(false);
  pass(400ms);
  expect_lost(true);
}

TEST_F(MendingSchedulerTest, LosingAllLinksShortensGracePeriod) {
  server_tells(ReportState::kApart);
  second_.break_link();
  pass(600ms);
  expect_lost(false);
  pass(300ms);
  expect_lost(true);
}

TEST_F(MendingSchedulerTest, ReportOrderDoesNotAffectGracePeriod) {
  second_.break_link();
  pass(200ms);
  server_tells(ReportState::kApart);
  pass(400ms);
  expect_lost(false);
  pass(300ms);
  expect_lost(true);
}

TEST_F(MendingSchedulerTest, ReconnectToServerRestoresGracePeriod) {
  second_.break_link();
  server_tells(ReportState::kApart);
  server_tells(ReportState::kMended);
  pass(3800ms);
  expect_lost(false);
}

}  // namespace
}  // namespace stretto
