// SPDX-License-Identifier: Apache-2.0
// The messages that members of an elastic job get at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "scheduler/scheduler.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::HasSubstr;

class ElasticSchedulerTest : public testing::Test {
 protected:
  ElasticSchedulerTest() {
    EXPECT_TRUE(scheduler_.listen("127.0.0.1:9000").ok());
    set_log_level(Level::kSilent);
    come(server_, Role::kServer, 0);
    come(first_, Role::kWorker, 0);
    come(second_, Role::kWorker, 1);
    for (FarEnd* far : {&server_, &first_, &second_}) far->controls();
  }
  ~ElasticSchedulerTest() override { set_log_level(Level::kInfo); }

  void step() {
    scheduler_.step(Duration::zero());
    scheduler_.step(Duration::zero());
  }
  void come(FarEnd& far, Role role, Rank rank) {
    far.connect();
    far.say(fake::hello(role, rank));
    step();
    far.node = std::get<control::Welcome>(far.controls().at(0)).node;
  }
  /// Lets time pass while the server sends heartbeats.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end; step()) {
      clock_.advance_to(std::min(end, clock_.now() + 100ms));
      server_.say(fake::heartbeat());
    }
  }
  static Config elastic() {
    Config config = fake::config(Role::kScheduler, -1);
    config.job.min_workers = 1;
    return config;
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = elastic();
  Scheduler scheduler_{config_, fake::scripted_transport(wire_), clock_};
  FarEnd server_{wire_, 101, 0};
  FarEnd first_{wire_, 102, 0};
  FarEnd second_{wire_, 103, 0};
};

TEST_F(ElasticSchedulerTest, LostLastWorkerHearsOfItsLoss) {
  second_.say(control::Leave{});
  step();
  pass(6s);
  bool told = false;
  for (const control::Message& message : first_.controls()) {
    EXPECT_FALSE(control::is<control::Leave>(message)) << "it has not asked to leave";
    const auto* fault = std::get_if<control::Fault>(&message);
    if (fault == nullptr) continue;
    told = true;
    EXPECT_THAT(fault->why.cause(), HasSubstr("worker 0 is lost: nothing heard of it"));
  }
  EXPECT_TRUE(told);
  bool goes = false;
  for (const control::Message& message : server_.controls()) {
    goes = goes || control::is<control::Leave>(message);
  }
  EXPECT_TRUE(goes) << "the job is done";
  EXPECT_TRUE(scheduler_.status().ok());
}

// A departed worker is in no view when its link ends; the scheduler still awaits that end.
TEST_F(ElasticSchedulerTest, SchedulerEndsWithTheLastLink) {
  second_.say(control::Leave{});
  step();
  second_.break_link();
  step();
  first_.say(control::Leave{});
  step();
  first_.break_link();
  step();
  EXPECT_FALSE(scheduler_.over()) << "the server has yet to go";
  server_.say(control::Leave{});
  step();
  server_.break_link();
  step();
  EXPECT_TRUE(scheduler_.over());
  EXPECT_TRUE(scheduler_.status().ok());
}

}  // namespace
}  // namespace stretto
