// SPDX-License-Identifier: Apache-2.0
// Names to orders.
#include "tools/bench/replay_order.h"

namespace stretto::bench {
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

}  // namespace stretto::bench
