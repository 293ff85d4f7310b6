// SPDX-License-Identifier: Apache-2.0
// The contract of immutable values, over real sockets: a fast worker's next round must never change
// bytes that a slow worker has not received. Random work delays one worker, the other runs at full
// speed, and both check every number of every round.
#include <gtest/gtest.h>

#include <array>

#include "tests/common/effort.h"
#include "tests/sim/sim_network.h"
#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

constexpr std::uint32_t kManyRounds = repeated(20'000U);
constexpr std::uint32_t kFewTensors = 8;
constexpr std::size_t kFewElements = 16;

using Numbers = std::array<std::uint32_t, kFewElements>;

/// A worker's contribution: the numbers differ at every position of every round.
Numbers share(Rank rank, std::uint32_t tensor, std::uint32_t round) {
  Numbers numbers;
  for (std::uint32_t i = 0; i < kFewElements; ++i) {
    numbers[i] = (rank + 1) * 0x9E3779B9U + tensor * 0x85EBCA6BU + round * 0xC2B2AE35U + i;
  }
  return numbers;
}

Numbers sum(std::uint32_t tensor, std::uint32_t round) {
  Numbers numbers = share(0, tensor, round);
  const Numbers other = share(1, tensor, round);
  for (std::size_t i = 0; i < kFewElements; ++i) numbers[i] += other[i];
  return numbers;
}

/// Work that takes either no time or far longer than a round; returns a result so that the compiler
/// keeps it.
std::uint64_t hold_up(sim::Random& random, const std::vector<std::byte>& memory) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  if (!random.chance(0.02)) return hash;
  for (std::uint64_t times = random.below(20); times > 0; --times) {
    for (std::byte b : memory) {
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3ULL;
    }
  }
  return hash;
}

struct Seen {
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
  std::uint64_t hash = 0;
};

/// Keeps a round of every tensor in flight; checks each value before that tensor's next round.
Seen exchange(Worker& worker, bool slow) {
  std::array<Tensor, kFewTensors> tensors;
  for (std::uint32_t t = 0; t < kFewTensors; ++t) {
    tensors[t] = worker.declare("tensor" + std::to_string(t), Dtype::kI32, kFewElements).or_exit();
  }
  std::array<Numbers, kFewTensors> sources, targets;
  std::array<Ticket, kFewTensors> tickets;
  sim::Random random(11);
  const std::vector<std::byte> memory(10'000, std::byte{1});
  Seen seen;
  for (std::uint32_t round = 1; round <= kManyRounds + 1; ++round) {
    for (std::uint32_t t = 0; t < kFewTensors; ++t) {
      if (slow) seen.hash ^= hold_up(random, memory);
      if (round > 1) {
        if (!tickets[t].wait().ok() || targets[t] != sum(t, round - 1)) ++seen.wrong;
        ++seen.checked;
      }
      if (round > kManyRounds) continue;
      sources[t] = share(worker.rank(), t, round);
      tickets[t] = worker.push_pull(tensors[t], std::as_bytes(std::span(sources[t])),
                                    std::as_writable_bytes(std::span(targets[t])));
    }
  }
  return seen;
}

TEST(SlowAndFast, FastWorkerLeavesSlowWorkersDataIntact) {
  live::Cluster cluster({.workers = 2, .shards = 2});
  cluster.run([](Worker& worker) {
    const Seen seen = exchange(worker, worker.rank() == 1);
    EXPECT_EQ(seen.wrong, 0U) << "of " << seen.checked;
    EXPECT_EQ(seen.checked, std::uint64_t{kManyRounds} * kFewTensors);
  });
}

}  // namespace
}  // namespace stretto
