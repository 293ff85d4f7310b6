// SPDX-License-Identifier: Apache-2.0
// A worker's loop reports the readers of its process to the scheduler, and gives them the limit
// that the scheduler sets. The scheduler is simulated.
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "worker/node.h"

namespace stretto {
namespace {

class NodeInputTest : public testing::Test {
 protected:
  NodeInputTest() {
    node_.set_input(&account_);
    node_.join([](const Status&) {});
    say(fake::welcome(10, 0));
    say(fake::roster());
  }
  void say(const control::Message& message) {
    scheduler_.say(message);
    node_.step(Duration::zero());
    node_.step(Duration::zero());
  }
  void limit(std::uint64_t bytes) {
    control::Heartbeat answer = fake::heartbeat();
    answer.input_limit_bytes = bytes;
    say(answer);
  }
  /// Lets a second pass; returns the last heartbeat.
  control::Heartbeat heartbeat() {
    scheduler_.controls();
    for (int i = 0; i < 2; ++i) {
      clock_.advance_to(clock_.now() + 500ms);
      node_.step(Duration::zero());
    }
    control::Heartbeat last;
    for (const control::Message& message : scheduler_.controls()) {
      if (control::is<control::Heartbeat>(message)) last = std::get<control::Heartbeat>(message);
    }
    return last;
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = fake::config(Role::kWorker);
  InputAccount account_;
  WorkerNode node_{config_, fake::scripted_transport(wire_), clock_};
  fake::FarEnd scheduler_{wire_, 1, kSchedulerNode};
};

TEST_F(NodeInputTest, TellsOfReadersIfThereAreSome) {
  EXPECT_GT(heartbeat().number, 0U);
  EXPECT_FALSE(heartbeat().input.has_value());
  const auto feed = account_.open(clock_.now());
  feed->delivered(1000);
  feed->wants(1 << 20, 1 << 18);
  const InputTotals told = heartbeat().input.value();
  EXPECT_EQ(told.delivered_bytes, 1000U);
  EXPECT_EQ(told.demanded_bytes, 1000U);
  EXPECT_EQ(told.read_bytes, 1U << 18);
}

TEST_F(NodeInputTest, PassesTheLimitOnAndTakesItBack) {
  const auto feed = account_.open(clock_.now());
  limit(300'000);
  EXPECT_EQ(feed->limit_bytes(), 300'000U);
  limit(1);
  EXPECT_EQ(feed->limit_bytes(), 65536U) << "a scheduler cannot stop a reader";
  limit(0);
  EXPECT_EQ(feed->limit_bytes(), 0U);
  limit(300'000);
  node_.abandon();
  EXPECT_EQ(feed->limit_bytes(), 0U) << "outside of a job there is no limit";
}

}  // namespace
}  // namespace stretto
