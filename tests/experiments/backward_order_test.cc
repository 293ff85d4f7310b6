// SPDX-License-Identifier: Apache-2.0
// Orders of a backward pass: a few layers computed by hand, and properties of all models.
#include "experiments/models/backward_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stretto::bench::experiments {

void PrintTo(const BackwardStep& step, std::ostream* out) {
  *out << step.layer << " for " << step.time.count()
       << (step.brings_gradients ? ", gradients" : "");
}

namespace {

using testing::ElementsAre;

Duration time_of(const std::vector<BackwardStep>& steps) {
  Duration sum{};
  for (const BackwardStep& step : steps) sum += step.time;
  return sum;
}

// Layers of tensors with these numbers of elements; each takes outputs of earlier layers.
Model model_of(const std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>>& layers) {
  Model model;
  for (const auto& [elements, inputs] : layers) {
    Model::Layer layer{.name = "", .inputs = inputs, .tensors = {}};
    if (elements > 0) {
      layer.tensors.push_back(static_cast<std::uint32_t>(model.tensors.size()));
      model.tensors.push_back({"", elements});
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

TEST(BackwardByLayers, IsForwardBackwards) {
  EXPECT_THAT(backward_by_layers({10ns, 20ns}),
              ElementsAre(BackwardStep{1, 20ns, true}, BackwardStep{0, 10ns, true}));
}

// The last layer's weights first, since they need no gradient passed on; the first has no input.
TEST(BackwardByBytes, OfAChainComputesWeightsBeforeItPassesOn) {
  const Model model = model_of({{10, {}}, {10, {0}}});
  EXPECT_THAT(backward_by_bytes(model, {10ns, 20ns}),
              ElementsAre(BackwardStep{1, 10ns, true}, BackwardStep{1, 10ns, false},
                          BackwardStep{0, 10ns, true}));
}

// Layers 1 and 2 are parallel between 0 and 3, and 1 has most of the bytes.
TEST(BackwardByBytes, TakesTheBranchWithMostBytesFirst) {
  const Model model = model_of({{1, {}}, {1000, {0}}, {10, {0}}, {1, {1, 2}}});
  const std::vector<BackwardStep> steps = backward_by_bytes(model, std::vector(4, Duration(10ns)));
  EXPECT_THAT(steps, ElementsAre(BackwardStep{3, 5ns, false}, BackwardStep{1, 5ns, true},
                                 BackwardStep{2, 5ns, true}, BackwardStep{3, 5ns, true},
                                 BackwardStep{2, 5ns, false}, BackwardStep{1, 5ns, false},
                                 BackwardStep{0, 10ns, true}));
}

TEST(BackwardByBytes, PassesThroughLayersWithoutParameters) {
  const Model model = model_of({{10, {}}, {0, {0}}, {10, {1}}});
  EXPECT_THAT(backward_by_bytes(model, {10ns, 6ns, 20ns}),
              ElementsAre(BackwardStep{2, 10ns, true}, BackwardStep{2, 10ns, false},
                          BackwardStep{1, 6ns, false}, BackwardStep{0, 10ns, true}));
}

class BackwardOrders : public testing::TestWithParam<std::string_view> {};

TEST_P(BackwardOrders, ComputeAllOfAModelInAnOrderThatItsGraphAllows) {
  const Model model = *find_model(GetParam());
  std::vector<Duration> times;
  for (const double share : shares_of(model)) times.push_back(Duration(std::llround(share * 1e9)));
  for (const auto& steps : {backward_by_layers(times), backward_by_bytes(model, times)}) {
    EXPECT_NEAR(static_cast<double>(time_of(steps).count()),
                static_cast<double>(time_of(backward_by_layers(times)).count()),
                static_cast<double>(steps.size()));  // Half of an odd number of nanoseconds.
    std::vector<int> gradients(model.layers.size());
    for (const BackwardStep& step : steps) gradients[step.layer] += step.brings_gradients ? 1 : 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_EQ(gradients[i], model.layers[i].tensors.empty() ? 0 : 1) << model.layers[i].name;
    }
  }
}

TEST_P(BackwardOrders, ComputesNoLayerBeforeItsDependencies) {
  const Model model = *find_model(GetParam());
  const std::vector<Duration> times(model.layers.size(), Duration(1us));
  std::vector<int> waits_for(model.layers.size());
  for (const Model::Layer& layer : model.layers) {
    for (const std::uint32_t input : layer.inputs) ++waits_for[input];
  }
  for (const BackwardStep& step : backward_by_bytes(model, times)) {
    EXPECT_EQ(waits_for[step.layer], 0) << model.layers[step.layer].name;
    if (step.brings_gradients) continue;
    for (const std::uint32_t input : model.layers[step.layer].inputs) --waits_for[input];
  }
}

INSTANTIATE_TEST_SUITE_P(All, BackwardOrders, testing::ValuesIn(model_names()),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace stretto::bench::experiments
