// SPDX-License-Identifier: Apache-2.0
// The event model against cases that can be worked out by hand.
#include "tools/bench/predict.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stretto::bench {
namespace {

/// Two layers of a tensor each, on a link of one byte a second.
Ideal two_layers(Flow flow, std::uint64_t first, std::uint64_t second, std::uint64_t part) {
  Ideal ideal;
  ideal.flow = flow;
  ideal.tensors = {{0}, {1}};
  ideal.forward_s = {1, 1};
  ideal.backward_s = {2, 2};
  ideal.bytes = {first, second};
  ideal.part_bytes = part;
  ideal.priorities = [](std::uint32_t) { return std::vector<int>{0, 0}; };
  return ideal;
}

double steady(const Ideal& ideal) { return predicted_s(ideal, 5, 10); }

TEST(Predict, SerialIsComputingAndBothWays) {
  EXPECT_DOUBLE_EQ(steady(two_layers(Flow::kSerial, 3, 4, 100)), 6 + 7 + 7);
  EXPECT_DOUBLE_EQ(steady(two_layers(Flow::kSerial, 3, 4, 1)), 6 + 7 + 7);
}

TEST(Predict, SmallTransfersHideBehindComputing) {
  // The second layer's gradient goes while the first's is computed; the first's must come back.
  EXPECT_DOUBLE_EQ(steady(two_layers(Flow::kPushPull, 1, 1, 100)), 6 + 2);
  EXPECT_DOUBLE_EQ(steady(two_layers(Flow::kPushPull, 2, 1, 1)), 6 + 3) << "parts go in a row";
}

// Both ways hide, of any model, and without priorities; a part of the last push cannot come back
// before it has gone.
TEST(Predict, EagerIsAsSlowAsTheSlowestResource) {
  for (const Flow flow : {Flow::kEager, Flow::kEagerPull}) {
    EXPECT_DOUBLE_EQ(steady(two_layers(flow, 2, 3, 1)), 6);
    EXPECT_DOUBLE_EQ(steady(two_layers(flow, 10, 20, 1)), flow == Flow::kEager ? 31 : 30);
  }
}

// Of 20 s for the second tensor the first waits 18, unless it is urgent and there are parts.
TEST(Predict, PriorityLetsTheFirstLayerPass) {
  Ideal fifo = two_layers(Flow::kPushPull, 1, 20, 1);
  Ideal layer = fifo;
  layer.priorities = [](std::uint32_t) { return std::vector<int>{0, -1}; };
  EXPECT_LT(steady(layer), steady(fifo));
  EXPECT_GE(steady(layer), 21);  // The link is the bottleneck then.
  Ideal whole = layer;
  whole.part_bytes = 100;
  EXPECT_GT(steady(whole), steady(layer));
}

TEST(Predict, ABarrierWaitsForAllPushesAndThenPullsInOrder) {
  Ideal ideal = two_layers(Flow::kBarrier, 3, 1, 100);
  // Backward, and 3 s of pushing after it; then 3 s for the first tensor, and forward.
  EXPECT_DOUBLE_EQ(steady(ideal), 6 + 3 + 3);
  ideal.priorities = [](std::uint32_t) { return std::vector<int>{-1, 0}; };
  EXPECT_DOUBLE_EQ(steady(ideal), 6 + 3 + 4);
}

// On a published model: slices with priorities reach the bound where transfers can hide.
TEST(Predict, SlicesByLayerReachTheBoundOnVgg) {
  const Model model = *find_model("vgg16");
  Ideal ideal;
  for (const auto& layer : model.layers) ideal.tensors.push_back(layer.tensors);
  for (const auto& tensor : model.tensors) ideal.bytes.push_back(4 * tensor.elements);
  for (const double share : shares_of(model)) {
    ideal.forward_s.push_back(share * 0.2339);
    ideal.backward_s.push_back(share * 0.4386);
  }
  ideal.part_bytes = 1'000'000;
  ideal.bytes_per_second = 1.25e9;
  ideal.priorities = [&](std::uint32_t) {
    std::vector<int> priorities(model.tensors.size());
    for (std::size_t i = 0; i < priorities.size(); ++i) priorities[i] = -static_cast<int>(i);
    return priorities;
  };
  EXPECT_NEAR(steady(ideal), 0.6725, 0.01);
}

TEST(Predict, EndsWhereNothingIsLeftToDo) {
  Ideal ideal = two_layers(Flow::kPushPull, 0, 0, 1);
  EXPECT_DOUBLE_EQ(steady(ideal), 6) << "tensors of no bytes take no time";
}

}  // namespace
}  // namespace stretto::bench
