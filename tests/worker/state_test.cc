// SPDX-License-Identifier: Apache-2.0
// Optimizer state of servers, saved and restored over real links: training in another job continues
// bit-identically.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using live::Cluster;
using testing::HasSubstr;
using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kStateElements = 40'000;  // Parts of 64 KiB: three, and more pieces.

TensorOptions by(Rule rule) {
  return {.update = {.rule = rule, .rate = 0.1}, .deterministic = true};
}

Floats gradient(Rank rank, int step) {
  Floats made(kStateElements);
  for (std::size_t i = 0; i < kStateElements; ++i) {
    made[i] = static_cast<float>((i * 7 + rank + static_cast<std::size_t>(step)) % 13) - 6;
  }
  return made;
}

// Runs steps `first` to `end` - 1; returns the values after them.
Floats train(Worker& worker, const Tensor& tensor, int first, int end) {
  Floats values(kStateElements);
  for (int step = first; step < end; ++step) {
    EXPECT_TRUE(worker.push_pull(tensor, gradient(worker.rank(), step), values).wait().ok());
  }
  return values;
}

struct Kept {
  Floats values;
  Bytes state;
};

Kept train_and_save(const Cluster& cluster, Rule rule, int steps) {
  Kept kept;
  cluster.run([&](Worker& worker) {
    const Tensor tensor = worker.declare("w", Dtype::kF32, kStateElements, by(rule)).or_exit();
    const Floats values = train(worker, tensor, 0, steps);
    ASSERT_TRUE(worker.barrier().ok());
    if (worker.rank() != 0) return;
    kept.values = values;
    kept.state = worker.save_state(tensor).or_exit();
  });
  return kept;
}

TEST(State, AnotherJobGoesOnAsIfNothingHadBeen) {
  const live::Plan plan{.workers = 2, .job = {.part_bytes = 65536}};
  for (const Rule rule : {Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    Floats whole;
    Cluster(plan).run([&](Worker& worker) {
      const Tensor tensor = worker.declare("w", Dtype::kF32, kStateElements, by(rule)).or_exit();
      Floats values = train(worker, tensor, 0, 6);
      if (worker.rank() == 0) whole = std::move(values);
    });
    const Kept kept = train_and_save(Cluster(plan), rule, 3);
    live::Plan other = plan;
    other.shards = 3;
    Floats resumed;
    Cluster(other).run([&](Worker& worker) {
      const Tensor tensor = worker.declare("w", Dtype::kF32, kStateElements, by(rule)).or_exit();
      Floats values = worker.rank() == 0 ? kept.values : Floats(kStateElements);
      ASSERT_TRUE(worker.broadcast(tensor, values, 0).wait().ok());
      if (worker.rank() == 0) {
        const Status status = worker.load_state(tensor, kept.state);
        EXPECT_TRUE(status.ok()) << status.text();
        EXPECT_EQ(worker.save_state(tensor).or_exit(), kept.state);
      }
      ASSERT_TRUE(worker.barrier().ok());
      values = train(worker, tensor, 3, 6);
      if (worker.rank() == 0) resumed = std::move(values);
    });
    EXPECT_EQ(resumed, whole);
  }
}

TEST(State, InvalidStateCallsAreRefused) {
  const Cluster cluster({.workers = 1, .job = {.part_bytes = 65536}});
  cluster.run([](Worker& worker) {
    const Tensor sum = worker.declare("sum", Dtype::kF32, 4).or_exit();
    EXPECT_THAT(worker.save_state(sum).status().cause(), HasSubstr("no update rule"));
    EXPECT_EQ(worker.save_state(sum).status().operation(), "save_state");
    EXPECT_EQ(worker.load_state(sum, {}).operation(), "load_state");
    const Tensor unknown{.id = 99, .dtype = Dtype::kF32, .elements = 4};
    EXPECT_EQ(worker.save_state(unknown).status().code(), Code::kInvalidArgument);
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kStateElements, by(Rule::kAdam)).or_exit();
    Bytes state = worker.save_state(tensor).or_exit();
    EXPECT_EQ(worker.load_state(tensor, Bytes(9)).code(), Code::kMalformed);
    const Tensor less = worker.declare("v", Dtype::kF32, 100, by(Rule::kAdam)).or_exit();
    EXPECT_EQ(worker.load_state(less, state).code(), Code::kMismatch);
    ASSERT_TRUE(worker.leave().ok());
    EXPECT_EQ(worker.save_state(tensor).status().code(), Code::kCancelled);
  });
}

TEST(State, ACallbackOnTheLoopCannotWaitForIt) {
  const Cluster cluster({.workers = 2, .job = {.part_bytes = 65536}});
  std::latch attached(1);  // Until then worker 1 has not contributed.
  cluster.run([&](Worker& worker) {
    const Tensor sum = worker.declare("sum", Dtype::kF32, 4).or_exit();
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kStateElements, by(Rule::kAdam)).or_exit();
    if (worker.rank() == 1) attached.wait();
    Status in_callback;
    Floats values(4);
    const Ticket ticket = worker.push_pull(sum, values, values);
    if (worker.rank() == 0) {
      ticket.on_done([&](const Status&) { in_callback = worker.save_state(tensor).status(); });
      attached.count_down();
    }
    EXPECT_TRUE(ticket.wait().ok());
    ASSERT_TRUE(worker.barrier().ok());  // After the callback, on the same loop.
    if (worker.rank() == 0) {
      EXPECT_EQ(in_callback.code(), Code::kInvalidArgument);
    }
  });
}

}  // namespace
}  // namespace stretto
