// SPDX-License-Identifier: Apache-2.0
// Error feedback through real workers and servers: the encoding error of a contribution, or of a
// round's sum, is added to later rounds. After some rounds of numbers, rounds of zeros follow until
// no error is left. Then all values add up to all contributions, element by element, with no
// element lost, doubled, or in another part or tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using Floats = std::vector<float>;

constexpr std::uint32_t kWorkers = 2;
constexpr std::uint32_t kPartBytes = 4096;
constexpr std::uint64_t kRounds = 6;

struct Case {
  const char* codec;
  std::size_t elements;  // 2,500 are three parts, the last one shorter.
  std::uint64_t zeros;   // Rounds after which no error is left.
};

// randomk sends one of four elements: the chance to omit an element for 90 rounds is 6e-12.
// dithering's error shrinks at least sevenfold each round. (onebit has an error for thousands of
// rounds: tests/e2e/coding.cc compares its bits with the reference's, and
// tests/ops/feedback_test.cc adds them up.)
constexpr Case kCases[] = {
    {"topk,k=0.1,ef=vanilla", 2500, 24},    {"topk,k=0.1,ef=vanilla", 60, 24},
    {"topk,k=100,ef=vanilla", 2500, 24},    {"randomk,k=0.25,seed=5,ef=vanilla", 2500, 90},
    {"dithering,k=7,ef=vanilla", 2500, 24}, {"int8,ef=vanilla", 2500, 8},
    {"fp16,ef=vanilla", 2500, 8},
};

Floats share_of(std::size_t which, Rank rank, std::uint64_t round, std::size_t elements) {
  Floats numbers(elements);
  if (round > kRounds) return numbers;
  std::mt19937_64 random(1'000'000 * which + 1'000 * round + rank);
  std::normal_distribution<float> normal;
  for (float& number : numbers) number = normal(random);
  return numbers;
}

struct Flow {
  std::size_t which;
  Tensor tensor;
  std::vector<double> truth, came;
  Floats mine, value;
  Ticket ticket;
};

std::vector<Flow> declare_all(Worker& worker) {
  std::vector<Flow> flows;
  for (std::size_t which = 0; which < std::size(kCases); ++which) {
    const auto [codec, elements, zeros] = kCases[which];
    const Tensor tensor = worker
                              .declare("tensor" + std::to_string(which), Dtype::kF32, elements,
                                       {.codec = *codec_from(codec)})
                              .or_exit();
    flows.push_back({.which = which,
                     .tensor = tensor,
                     .truth = std::vector<double>(elements),
                     .came = std::vector<double>(elements),
                     .mine = {},
                     .value = Floats(elements),
                     .ticket = {}});
  }
  return flows;
}

void begin(Worker& worker, Flow& flow, std::uint64_t round) {
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    Floats numbers = share_of(flow.which, rank, round, flow.value.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      flow.truth[i] += static_cast<double>(numbers[i]);
    }
    if (rank == worker.rank()) flow.mine = std::move(numbers);
  }
  flow.ticket = worker.push_pull(flow.tensor, flow.mine, flow.value);
}

void end(Worker& worker, Flow& flow, std::uint64_t round) {
  ASSERT_TRUE(flow.ticket.wait().ok());
  for (std::size_t i = 0; i < flow.value.size(); ++i) {
    flow.came[i] += static_cast<double>(flow.value[i]);
  }
  if (round > kRounds || worker.rank() != 0) return;
  Floats again(flow.value.size());  // A sum is encoded only once.
  ASSERT_TRUE(worker.pull(flow.tensor, again).wait().ok());
  EXPECT_EQ(again, flow.value) << kCases[flow.which].codec << " round " << round;
}

void expect_all_came(const Flow& flow) {
  double most = 0;
  for (std::size_t i = 0; i < flow.truth.size(); ++i) {
    most = std::max(most, std::fabs(flow.came[i] - flow.truth[i]));
  }
  EXPECT_LT(most, 1e-4) << kCases[flow.which].codec << " of " << flow.truth.size();
}

TEST(Feedback, AllThatIsSentArrivesInTheEndAndOnce) {
  const live::Cluster cluster({.workers = kWorkers, .job = {.part_bytes = kPartBytes}});
  cluster.run([](Worker& worker) {
    std::vector<Flow> flows = declare_all(worker);
    for (std::uint64_t round = 1; !flows.empty(); ++round) {
      for (Flow& flow : flows) begin(worker, flow, round);
      for (Flow& flow : flows) end(worker, flow, round);
      std::erase_if(flows, [round](const Flow& flow) {
        const bool settled = round == kRounds + kCases[flow.which].zeros;
        if (settled) expect_all_came(flow);
        return settled;
      });
    }
  });
}

TEST(Feedback, BroadcastClearsErrorFeedback) {
  const live::Cluster cluster({.workers = kWorkers, .job = {.part_bytes = kPartBytes}});
  cluster.run([](Worker& worker) {
    const Tensor tensor =
        worker.declare("t", Dtype::kF32, 4, {.codec = *codec_from("topk,k=1,ef=vanilla")})
            .or_exit();
    // Each worker has an error of 2, and the servers one of 9, since they send one of two.
    Floats data = worker.rank() == 0 ? Floats{9, 2, 0, 0} : Floats{0, 0, 2, 9};
    Floats value(4);
    ASSERT_TRUE(worker.push_pull(tensor, data, value).wait().ok());
    EXPECT_EQ(value, (Floats{9, 0, 0, 0}));
    ASSERT_TRUE(worker.broadcast(tensor, data, 0).wait().ok());
    Floats zeros(4);
    ASSERT_TRUE(worker.push_pull(tensor, zeros, value).wait().ok());
    EXPECT_EQ(value, Floats(4));
  });
}

}  // namespace
}  // namespace stretto
