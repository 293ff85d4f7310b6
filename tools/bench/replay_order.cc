// SPDX-License-Identifier: Apache-2.0
// Names to orders, and orders to the event model.
#include "tools/bench/replay_order.h"

#include <algorithm>

#include "tools/bench/predict.h"

namespace stretto::bench {
namespace {

constexpr std::uint32_t kPredictedWarmUp = 5;
constexpr std::uint32_t kPredicted = 20;

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& tensor : model.tensors) names.push_back(tensor.name);
  return names;
}

}  // namespace

std::string order_name(const ReplaySettings& settings, const Scheme& scheme) {
  return settings.order.empty() ? std::string(scheme.order) : settings.order;
}

Result<Order> make_order(const std::string& name, const ReplaySettings& settings,
                         const Model& model, double bytes_per_second, std::uint64_t seed) {
  if (name == "registration") return registration_order();
  if (name == "arrival") return arrival_order();
  if (name == "random") return random_order(seed);
  if (name.starts_with("file:")) return file_order(name.substr(5));
  const Compute compute = compute_of(settings, model);
  const ModelGraph graph = graph_of(model, compute.forward_s, bytes_per_second * settings.scale);
  if (name == "tic") return tic_order(graph);
  return name == "tac" ? tac_order(graph) : layer_order(graph);
}

Load load_of(const ReplaySettings& settings, const Model& model, const Links& links) {
  return {compute_of(settings, model).total_s(),
          one_way_s(scaled_bytes(model, settings.scale), links.bytes_per_second, links.workers,
                    links.servers)};
}

Result<double> predicted_s(const ReplaySettings& settings, const Scheme& scheme, const Model& model,
                           const Links& links, const CodecSpec& codec) {
  std::string name = order_name(settings, scheme);
  if (name == "first_use") name = "layer";
  const std::vector<std::string> tensors = names_of(model);
  const auto priorities = [&](std::uint32_t iteration) {
    const Result<Order> order = make_order(name, settings, model, links.bytes_per_second,
                                           settings.seed + iteration * links.workers);
    return order.ok() ? (*order)->priorities(tensors) : order.status();
  };
  const Result<std::vector<int>> settled = priorities(0);
  if (!settled.ok()) return settled.status();

  Ideal ideal;
  ideal.flow = scheme.flow;
  const Compute compute = compute_of(settings, model);
  const std::vector<double> shares = shares_of(model);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    ideal.tensors.push_back(model.layers[i].tensors);
    ideal.forward_s.push_back(shares[i] * compute.forward_s);
    ideal.backward_s.push_back(shares[i] * compute.backward_s);
  }
  const std::uint64_t part = part_bytes_of(settings, scheme);
  for (const auto& tensor : model.tensors) {
    ideal.bytes.push_back(travelling_bytes(codec_for(codec, 4 * tensor.elements),
                                           scaled_elements(tensor.elements, settings.scale), part));
  }
  // A whole part's encoding; what is not encoded is hardly ever as large.
  ideal.part_bytes = travelling_bytes(codec, part / sizeof(float), part);
  ideal.bytes_per_second = static_cast<double>(scaled_bytes(model, settings.scale)) /
                           load_of(settings, model, links).one_way_s;
  ideal.priorities = [&](std::uint32_t iteration) {
    return name == "random" ? *priorities(iteration) : *settled;
  };
  return predicted_s(ideal, kPredictedWarmUp, kPredicted);
}

}  // namespace stretto::bench
