// SPDX-License-Identifier: Apache-2.0
// Model tables: their totals are the published ones, and their graphs are complete.
#include "experiments/models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace stretto::bench::experiments {
namespace {

struct Published {
  std::string_view name;
  std::uint64_t parameters;
  std::size_t tensors;
  std::uint64_t largest_bytes;
};
void PrintTo(const Published& model, std::ostream* out) { *out << model.name; }

class Models : public testing::TestWithParam<Published> {
 protected:
  const Model model_ = *find_model(GetParam().name);
};

TEST_P(Models, HaveThePublishedNumberOfParameters) {
  EXPECT_EQ(model_.name, GetParam().name);
  EXPECT_EQ(model_.parameters(), GetParam().parameters);
  EXPECT_EQ(model_.tensors.size(), GetParam().tensors);
  EXPECT_EQ(model_.largest_bytes(), GetParam().largest_bytes);
}

TEST_P(Models, EveryTensorHasOneLayerAndUniqueName) {
  std::multiset<std::uint32_t> used;
  for (const auto& layer : model_.layers) used.insert(layer.tensors.begin(), layer.tensors.end());
  EXPECT_EQ(used.size(), model_.tensors.size());
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < model_.tensors.size(); ++i) {
    EXPECT_EQ(used.count(i), 1U) << model_.tensors[i].name;
    EXPECT_GT(model_.tensors[i].elements, 0U);
    names.insert(model_.tensors[i].name);
  }
  EXPECT_EQ(names.size(), model_.tensors.size());
}

// Every layer except the last ones is an input of another layer, and the graph has an order.
TEST_P(Models, TheGraphIsInOnePiece) {
  std::set<std::uint32_t> needed;
  for (const auto& layer : model_.layers) needed.insert(layer.inputs.begin(), layer.inputs.end());
  std::vector<std::string> ends;
  for (std::uint32_t i = 0; i < model_.layers.size(); ++i) {
    if (needed.count(i) == 0) ends.push_back(model_.layers[i].name);
  }
  EXPECT_LE(ends.size(), 2U) << testing::PrintToString(ends);  // Inception has two heads.
  const ModelGraph graph = graph_of(model_, 1, 1e9);
  for (const auto& ranks : {layer_ranks(graph), tic_ranks(graph), tac_ranks(graph)}) {
    ASSERT_TRUE(ranks.ok()) << ranks.status().text();
    EXPECT_EQ(ranks->size(), model_.tensors.size());
    EXPECT_EQ(*std::min_element(ranks->begin(), ranks->end()), 0U);
  }
}

TEST_P(Models, SharesOfTheTimeAddUp) {
  const std::vector<double> shares = shares_of(model_);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
  Duration sum{};
  for (const auto& node : graph_of(model_, 2, 1e9).nodes) sum += *node.time;
  EXPECT_NEAR(std::chrono::duration<double>(sum).count(), 2, 1e-6);
}

constexpr std::uint64_t kMiB = 1 << 20;
INSTANTIATE_TEST_SUITE_P(All, Models,
                         testing::Values(Published{"alexnet", 61'100'840, 16, 144 * kMiB},
                                         Published{"vgg16", 138'357'544, 32, 392 * kMiB},
                                         Published{"resnet50", 25'557'032, 161, 9 * kMiB},
                                         Published{"inception_v3", 27'161'264, 292, 9'830'400},
                                         Published{"densenet121", 7'978'856, 364, 4'096'000},
                                         Published{"bert_base", 109'482'240, 199, 93'763'584}));

TEST(ModelNames, AreAllThatThereIs) {
  EXPECT_THAT(model_names(), testing::ElementsAre("alexnet", "vgg16", "resnet50", "inception_v3",
                                                  "densenet121", "bert_base"));
  const auto none = find_model("gpt");
  EXPECT_EQ(none.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(none.status().cause(),
            "there is no model 'gpt'; there are alexnet, vgg16, resnet50, "
            "inception_v3, densenet121, bert_base");
}

// All orders of a chain are alike; the large tensors at its end must not come first.
TEST(ModelOrders, OfAChainFollowTheLayers) {
  for (const std::string_view name : {"alexnet", "vgg16"}) {
    const ModelGraph graph = graph_of(*find_model(name), 0.1, 1.25e9);
    const auto layer = *layer_ranks(graph);
    for (const auto& ranks : {*tic_ranks(graph), *tac_ranks(graph)}) {
      for (std::size_t i = 2; i < ranks.size(); i += 2) {
        EXPECT_LT(std::min(ranks[i - 2], ranks[i - 1]), std::max(ranks[i], ranks[i + 1]))
            << name << " " << graph.transfers[i].name;
      }
    }
    EXPECT_TRUE(std::is_sorted(layer.begin(), layer.end()));
  }
}

TEST(ModelOrders, ASkipConnectionIsAnInputTwice) {
  const Model model = *find_model("resnet50");
  const auto down = std::find_if(model.layers.begin(), model.layers.end(), [](const auto& layer) {
    return layer.name == "layer1.0.down.conv";
  });
  ASSERT_NE(down, model.layers.end());
  const auto next = std::find_if(model.layers.begin(), model.layers.end(),
                                 [](const auto& layer) { return layer.name == "layer1.1.1.conv"; });
  ASSERT_NE(next, model.layers.end());
  EXPECT_EQ(next->inputs.size(), 2U);
}

}  // namespace
}  // namespace stretto::bench::experiments
