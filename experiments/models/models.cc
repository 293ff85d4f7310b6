// SPDX-License-Identifier: Apache-2.0
// AlexNet, VGG-16, ResNet-50 and BERT-base. Times of the CNNs are sums of the profiles that
// PipeDream publishes (github.com/msr-fiddle/pipedream, profiler/image_classification/profiles).
#include "experiments/models/models.h"

#include <algorithm>
#include <array>
#include <functional>

#include "experiments/models/model_builder.h"
#include "tools/bench/support/now.h"

namespace stretto::bench::experiments {
namespace {

std::string profile(int batch) {
  return fmt::format("PipeDream's published profile, batch {}; each layer's share by its flops",
                     batch);
}

Model alexnet() {
  ModelBuilder build("alexnet", {.forward_s = 0.0448, .backward_s = 0.0405}, profile(256));
  Activation at{{}, 3, 224, 224};
  at = build.conv("conv1", at, {.channels = 64, .kernel = 11, .stride = 4, .padding = 2}, true);
  at = pooled(at, 3, 2, 0);
  at = build.conv("conv2", at, {.channels = 192, .kernel = 5, .padding = 2}, true);
  at = pooled(at, 3, 2, 0);
  at = build.conv("conv3", at, {.channels = 384, .kernel = 3, .padding = 1}, true);
  at = build.conv("conv4", at, {.channels = 256, .kernel = 3, .padding = 1}, true);
  at = build.conv("conv5", at, {.channels = 256, .kernel = 3, .padding = 1}, true);
  at = pooled(at, 3, 2, 0);
  at = build.full("fc6", at, 4096);
  at = build.full("fc7", at, 4096);
  build.full("fc8", at, 1000);
  return build.take();
}

Model vgg16() {
  ModelBuilder build("vgg16", {.forward_s = 0.2339, .backward_s = 0.4386}, profile(128));
  Activation at{{}, 3, 224, 224};
  const std::array<std::pair<int, std::uint64_t>, 5> stages = {
      {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int i = 0; i < stages[stage].first; ++i) {
      at = build.conv(fmt::format("conv{}_{}", stage + 1, i + 1), at,
                      {.channels = stages[stage].second, .kernel = 3, .padding = 1}, true);
    }
    at = pooled(at, 2, 2, 0);
  }
  at = build.full("fc6", at, 4096);
  at = build.full("fc7", at, 4096);
  build.full("fc8", at, 1000);
  return build.take();
}

// 1x1, 3x3 (with the stride), 1x1, and the input added, directly or through a 1x1 of its own.
Activation bottleneck(ModelBuilder& build, const std::string& name, const Activation& input,
                      std::uint64_t middle, std::uint64_t stride, bool first) {
  Activation at = build.conv_norm(name + ".1", input, {.channels = middle});
  at = build.conv_norm(name + ".2", at,
                       {.channels = middle, .kernel = 3, .stride = stride, .padding = 1});
  at = build.conv_norm(name + ".3", at, {.channels = 4 * middle});
  Activation skip = input;
  if (first) {
    skip = build.conv_norm(name + ".down", input, {.channels = 4 * middle, .stride = stride});
  }
  at.layers.insert(at.layers.end(), skip.layers.begin(), skip.layers.end());
  return at;
}

Model resnet50() {
  ModelBuilder build("resnet50", {.forward_s = 0.1825, .backward_s = 0.2609}, profile(128));
  Activation at{{}, 3, 224, 224};
  at = build.conv_norm("stem", at, {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  at = pooled(at, 3, 2, 1);
  const std::array<int, 4> blocks = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::uint64_t stride = stage > 0 && i == 0 ? 2 : 1;
      at = bottleneck(build, fmt::format("layer{}.{}", stage + 1, i), at, 64ULL << stage, stride,
                      i == 0);
    }
  }
  at.height = at.width = 1;  // The mean over the area.
  build.full("fc", at, 1000);
  return build.take();
}

constexpr std::uint64_t kHidden = 768;
constexpr std::uint64_t kInner = 3072;
constexpr double kWords = 128;

// Sequences of 128 words, which affects only the distribution of time: a layer's flops are 24 b s
// H^2 + 4 b s^2 H.
Model bert_base() {
  ModelBuilder build("bert_base", {},
                     "no published profile was found: as much compute as one-way transfer, unless "
                     "--compute_s says otherwise; each layer's share by its flops");
  const auto dense = [&build](const std::string& name, std::uint32_t input, std::uint64_t from,
                              std::uint64_t to, double more) {
    return build.layer(name, {input}, {{"weight", from * to}, {"bias", to}},
                       2 * kWords * static_cast<double>(from * to) + more);
  };
  const auto norm = [&build](const std::string& name, std::vector<std::uint32_t> inputs) {
    return build.layer(name, std::move(inputs), {{"weight", kHidden}, {"bias", kHidden}},
                       2 * kWords * static_cast<double>(kHidden));
  };
  std::uint32_t word = build.layer("embeddings.word", {}, {{"weight", 30522 * kHidden}}, 0);
  std::uint32_t position = build.layer("embeddings.position", {}, {{"weight", 512 * kHidden}}, 0);
  std::uint32_t type = build.layer("embeddings.type", {}, {{"weight", 2 * kHidden}}, 0);
  std::uint32_t at = norm("embeddings.norm", {word, position, type});
  for (int i = 0; i < 12; ++i) {
    const std::string name = fmt::format("layer{}", i);
    const std::uint32_t query = dense(name + ".query", at, kHidden, kHidden, 0);
    const std::uint32_t key = dense(name + ".key", at, kHidden, kHidden, 0);
    const std::uint32_t value = dense(name + ".value", at, kHidden, kHidden, 0);
    // Includes the products of queries, keys and values, which precede it.
    std::uint32_t out = dense(name + ".attended", query, kHidden, kHidden,
                              4 * kWords * kWords * static_cast<double>(kHidden));
    out = norm(name + ".norm1", {out, key, value, at});
    const std::uint32_t inner = dense(name + ".inner", out, kHidden, kInner, 0);
    const std::uint32_t outer = dense(name + ".outer", inner, kInner, kHidden, 0);
    at = norm(name + ".norm2", {outer, out});
  }
  dense("pooler", at, kHidden, kHidden, 0);
  return build.take();
}

struct Known {
  std::string_view name;
  Model (*make)();
};
constexpr std::array<Known, 6> kTrainedModels = {{{"alexnet", alexnet},
                                                  {"vgg16", vgg16},
                                                  {"resnet50", resnet50},
                                                  {"inception_v3", inception_v3},
                                                  {"densenet121", densenet121},
                                                  {"bert_base", bert_base}}};

}  // namespace

std::uint64_t Model::parameters() const {
  std::uint64_t sum = 0;
  for (const TensorShape& tensor : tensors) sum += tensor.elements;
  return sum;
}

std::uint64_t Model::largest_bytes() const {
  std::uint64_t largest = 0;
  for (const TensorShape& tensor : tensors) largest = std::max(largest, 4 * tensor.elements);
  return largest;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const Known& known : kTrainedModels) names.push_back(known.name);
  return names;
}

Result<Model> find_model(std::string_view name) {
  std::string names;
  for (const Known& known : kTrainedModels) {
    if (known.name == name) return known.make();
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return Status(Code::kInvalidArgument,
                fmt::format("there is no model '{}'; there are {}", name, names));
}

std::vector<double> shares_of(const Model& model) {
  double sum = 0;
  for (const Model::Layer& layer : model.layers) sum += layer.flops;
  std::vector<double> shares;
  for (const Model::Layer& layer : model.layers) shares.push_back(layer.flops / sum);
  return shares;
}

ModelGraph graph_of(const Model& model, double forward_s, double bytes_per_second) {
  ModelGraph graph;
  for (const Model::TensorShape& tensor : model.tensors) {
    graph.transfers.push_back({.name = tensor.name, .bytes = 4 * tensor.elements, .time = {}});
  }
  time_transfers(graph, bytes_per_second);
  const std::vector<double> shares = shares_of(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Model::Layer& layer = model.layers[i];
    graph.nodes.push_back({.name = layer.name,
                           .inputs = layer.inputs,
                           .transfers = layer.tensors,
                           .time = duration_of(shares[i] * forward_s)});
  }
  return graph;
}

}  // namespace stretto::bench::experiments
