// SPDX-License-Identifier: Apache-2.0
// Workers that join a running job get its state, bit by bit.
#include "stretto/step_state.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

constexpr std::size_t kLarge = (std::size_t{9} << 20) / sizeof(float) + 3;  // Three pieces.

/// A program: each step adds the sum of all contributions to its state.
struct Trained {
  explicit Trained(Worker& of, std::size_t elements = kLarge)
      : worker(of), state(of), weights(elements), small(5) {
    state.add("weights", weights);
    state.add("small", small);
    state.add("count", count);
  }

  // Runs a step; returns the number of workers that joined with it.
  std::uint32_t step() {
    const Result<StepBegin> begins = state.next();
    EXPECT_TRUE(begins.ok()) << begins.status().text();
    const Tensor tensor = *worker.declare("share", Dtype::kF32, 1);
    float share = 1;
    EXPECT_TRUE(
        worker.push_pull(tensor, std::span<const float>(&share, 1), std::span<float>(&share, 1))
            .wait()
            .ok());
    ++count[0];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] += share * static_cast<float>(i % 1021 + 1);
    }
    for (std::int64_t& each : small) each += static_cast<std::int64_t>(share) << 40;
    return begins.ok() ? begins->newcomers : 0;
  }

  Worker& worker;
  StepState state;
  std::vector<float> weights;
  std::vector<std::int64_t> small;
  std::array<std::uint64_t, 1> count{};
};

TEST(StepState, NewcomerReceivesSharedState) {
  live::Cluster cluster({.workers = 3, .shards = 2, .job = {.min_workers = 1}});
  cluster.run([&](Worker& worker) {
    Trained mine(worker);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(mine.step(), 0U);
    if (worker.rank() == 2) {
      ASSERT_TRUE(worker.leave().ok());
      std::jthread([&] {
        Result<Worker> late = Worker::join(cluster.options());
        ASSERT_TRUE(late.ok()) << late.status().text();
        Trained theirs(*late);
        EXPECT_EQ(theirs.step(), 1U);
        EXPECT_GT(theirs.count[0], 3U);
        for (std::size_t i = 0; i < kLarge; i += 997) {
          EXPECT_EQ(theirs.weights[i], theirs.weights[0] * static_cast<float>(i % 1021 + 1)) << i;
        }
        EXPECT_EQ(theirs.small[4] >> 40, static_cast<std::int64_t>(theirs.weights[0]));
        EXPECT_EQ(static_cast<std::int64_t>(theirs.weights[0]),
                  3 * 3 + 2 * (static_cast<std::int64_t>(theirs.count[0]) - 4) + 3);
        EXPECT_TRUE(late->leave().ok());
      });
      return;
    }
    while (mine.step() == 0) {
    }
  });
}

}  // namespace
}  // namespace stretto
