// SPDX-License-Identifier: Apache-2.0
// Scales the original's rates and times to the lab.
#include "experiments/replay/replay_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

constexpr std::uint64_t kNoBound = std::uint64_t{1} << 40;
constexpr std::uint64_t kPartUnit = 64;
constexpr std::uint64_t kLeastPartBytes = 1024;  // Below, frames are mostly headers.

double lab_seconds(const ReplaySettings& settings, double original_s) {
  return original_s / original_seconds(settings);
}

}  // namespace

std::uint64_t scaled_bytes(const Model& model, std::uint32_t scale) {
  std::uint64_t sum = 0;
  for (const auto& tensor : model.tensors) sum += 4 * scaled_elements(tensor.elements, scale);
  return sum;
}

double original_seconds(const ReplaySettings& settings) {
  return static_cast<double>(settings.scale) * static_cast<double>(settings.lab_mbit) /
         static_cast<double>(settings.rate_mbit);
}

Compute compute_of(const ReplaySettings& settings, const Model& model) {
  Compute original{model.times.forward_s, model.times.backward_s};
  if (original.total_s() == 0) {  // Equal to the transfer time; backward costs twice forward.
    const double transfer_s =
        8.0 * static_cast<double>(model.bytes()) / (1e6 * static_cast<double>(settings.rate_mbit));
    original = {transfer_s / 3, 2 * transfer_s / 3};
  }
  const double factor = settings.compute_s == 0 ? 1 : settings.compute_s / original.total_s();
  return {lab_seconds(settings, factor * original.forward_s),
          lab_seconds(settings, factor * original.backward_s)};
}

std::uint64_t part_bytes_of(const ReplaySettings& settings, const Scheme& scheme) {
  if (scheme.whole_tensors) return kMaxPartBytes;
  const std::uint64_t part = settings.slice_bytes / settings.scale / kPartUnit * kPartUnit;
  return std::clamp(part, kLeastPartBytes, kMaxPartBytes);
}

std::vector<std::pair<std::string, std::string>> variables_of(const ReplaySettings& settings,
                                                              const Scheme& scheme) {
  const std::uint64_t part = part_bytes_of(settings, scheme);
  std::vector<std::pair<std::string, std::string>> variables{
      {"STRETTO_PART_BYTES", std::to_string(part)},
      {"STRETTO_HAND_OVER", scheme.whole_frames ? "frames" : "slices"}};
  if (scheme.whole_frames) {
    const std::uint64_t window = scheme.window_bytes == 0 ? kNoBound : scheme.window_bytes;
    variables.emplace_back("STRETTO_LINK_WINDOW_BYTES", std::to_string(window));
    variables.emplace_back("STRETTO_TOTAL_WINDOW_BYTES", std::to_string(kNoBound));
  }
  return variables;
}

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

Load load_of(const ReplaySettings& settings, const Model& model, const Links& links,
             Exchange exchange) {
  const std::uint64_t bytes = scaled_bytes(model, settings.scale);
  const double compute_s = compute_of(settings, model).total_s();
  if (exchange == Exchange::kServers) {
    return {compute_s, one_way_s(bytes, links.bytes_per_second, links.workers, links.servers)};
  }
  return {compute_s, one_way_among_s(bytes, links.bytes_per_second, links.workers), 1};
}

double one_way_among_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers) {
  const double others = workers - 1;
  return 2 * others / workers * static_cast<double>(bytes) / bytes_per_second;
}

double one_way_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers,
                 std::uint32_t servers) {
  const double share = static_cast<double>(workers) / static_cast<double>(servers);
  return static_cast<double>(bytes) / bytes_per_second * std::max(1.0, share);
}

std::string refusal(double cpu_used, double late_p99_s, double iteration_s) {
  if (cpu_used > kMostCpu) {
    return fmt::format("refused: {:.0f} % of the processors were busy, not only the links",
                       100 * cpu_used);
  }
  if (late_p99_s <= kMostLate * iteration_s) return "";
  return fmt::format(
      "refused: one sleep in a hundred ended {:.1f} ms late or more, so processes "
      "waited for processors",
      late_p99_s * 1e3);
}

double interquartile_range(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.75) - quantile(values, 0.25);
}

}  // namespace stretto::bench::experiments
