// SPDX-License-Identifier: Apache-2.0
// A shard in virtual time, with a scripted scheduler and two scripted workers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/shard.h"
#include "tests/van/far_end.h"

namespace stretto::fake {

/// Thread: loop.
class ShardTest : public testing::Test {
 protected:
  static constexpr wire::Key kKey{1, 0};

  ShardTest() { config_.rank = 0; }

  /// Until the shard has a roster and both workers are admitted.
  void begin() {
    start();
    say_scheduler(roster_);
    join(first_, 0);
    join(second_, 1);
  }
  void start() {
    shard_ = std::make_unique<Shard>(config_, 0, scripted_transport(wire_), *shards_clock_);
    ASSERT_TRUE(shard_->start("127.0.0.1:7000", "").ok());
    say_scheduler(welcome(50, 0));
  }
  void say_scheduler(const control::Message& message) {
    scheduler_.say(message);
    step();
  }
  void join(FarEnd& worker, Rank rank) {
    worker.connect();
    worker.say(hello(Role::kWorker, rank, 10 + rank));
    step();
    ASSERT_TRUE(control::is<control::Welcome>(worker.control()));
    worker.epoch = 1;
  }
  /// Both workers open tensor 1, of 2 elements by default.
  void open(const TensorOptions& options = {}, Dtype dtype = Dtype::kF32,
            std::uint64_t elements = 2) {
    for (FarEnd* worker : {&first_, &second_}) {
      open_at(*worker, 1, spec("grads", dtype, elements, options));
    }
    step();
  }
  static void open_at(FarEnd& worker, std::uint32_t tensor, const TensorSpec& of) {
    control::Open message{.tensor = tensor, .spec = of};
    worker.say(message);
  }
  void push(FarEnd& worker, std::uint64_t round, const std::vector<float>& numbers,
            unsigned flags = wire::kWantsValue, Rank root = 0) {
    auto frame = wire::PushFrame::of(push_header(kKey, round, flags));
    frame.root = root;
    worker.send(frame.header(), bytes_of(numbers));
    step();
  }
  void probe(FarEnd& worker) { ask(worker, {.key = kKey, .probes = true}); }
  void pull(FarEnd& worker, std::uint64_t least) {
    ask(worker, {.key = kKey, .least_version = least});
  }
  void ask(FarEnd& worker, const wire::PullFrame& pull) {
    worker.send(pull.header());
    step();
  }
  /// The only fault that this worker has received.
  static Status fault_at(FarEnd& worker, std::uint32_t tensor = 1) {
    const control::Message message = worker.control();
    EXPECT_TRUE(control::is<control::Fault>(message));
    EXPECT_EQ(std::get<control::Fault>(message).tensor, tensor);
    return std::get<control::Fault>(message).why;
  }
  void worker_leaves(FarEnd& worker, Rank rank) {
    worker.say(leave());
    roster_.members[rank].left = true;
    ++roster_.epoch;
    say_scheduler(roster_);
  }
  void step() {
    shard_->step(Duration::zero());
    shard_->step(Duration::zero());
  }
  /// Time passes while the scheduler shows signs of life.
  void pass(Duration time) {
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      clock_.advance_to(std::min(end, clock_.now() + 500ms));
      say_scheduler(heartbeat());
    }
  }

  sim::VirtualClock clock_;
  const Clock* shards_clock_ = &clock_;
  Wire wire_;
  Config config_ = config(Role::kServer);
  Roster roster_ = roster();
  FarEnd scheduler_{wire_, 1, kSchedulerNode};
  FarEnd first_{wire_, 101, 10};
  FarEnd second_{wire_, 102, 11};
  std::unique_ptr<Shard> shard_;
};

}  // namespace stretto::fake
