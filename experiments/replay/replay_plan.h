// SPDX-License-Identifier: Apache-2.0
// The arithmetic of replay: scaling a model's iteration to the lab's links, the bounds for
// comparison, and when a result is invalid. Pure, except for an order that is read from a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/models/models.h"
#include "experiments/replay/replay_settings.h"
#include "stretto/order.h"

namespace stretto::bench::experiments {

inline constexpr std::uint64_t kMaxPartBytes = 16 << 20;  ///< The job's limit.

/// f32 elements that stand for `elements`, at least one.
inline std::uint64_t scaled_elements(std::uint64_t elements, std::uint32_t scale) {
  return elements < scale ? 1 : elements / scale;
}
inline std::uint64_t scaled_bytes(std::uint64_t bytes, std::uint32_t scale) {
  return 4 * scaled_elements(bytes / 4, scale);
}
std::uint64_t scaled_bytes(const Model& model, std::uint32_t scale);

/// Compute seconds of one lab iteration. Transfers take scale * lab rate / rate times their
/// original time; computation is scaled alike, so their ratio stays.
struct Compute {
  double forward_s = 0;
  double backward_s = 0;
  double total_s() const { return forward_s + backward_s; }
};
Compute compute_of(const ReplaySettings& settings, const Model& model);
/// Original seconds per lab second.
double original_seconds(const ReplaySettings& settings);

/// In lab bytes, after scaling.
std::uint64_t part_bytes_of(const ReplaySettings& settings, const Scheme& scheme);
/// The scheme's part and window sizes as environment variables for all processes.
std::vector<std::pair<std::string, std::string>> variables_of(const ReplaySettings& settings,
                                                              const Scheme& scheme);

/// The order of the scheme's tensors: --order, or its own.
std::string order_name(const ReplaySettings& settings, const Scheme& scheme);
/// An order: registration, arrival, layer, random, tic, tac or file:PATH. `seed`: for random
/// orders; TAC uses the lab's times.
Result<Order> make_order(const std::string& name, const ReplaySettings& settings,
                         const Model& model, double bytes_per_second, std::uint64_t seed);

/// The lab's links: their rate, and the workers and servers that share them.
struct Links {
  double bytes_per_second = 0;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
};

// How good a schedule is: an iteration's time between no overlap and full overlap. The measures are
// TicTac's (Hashemi et al., MLSys 2019), with simultaneous pushes and pulls, as a full-duplex link
// carries them.

/// Seconds of one iteration: computation, and all transfers in one direction.
struct Load {
  double compute_s = 0;
  double one_way_s = 0;
  double ways = 2;  ///< With servers 2, push then pull; among workers 1.

  double transfer_s() const { return ways * one_way_s; }
  /// No overlap: compute, push, pull.
  double serial_s() const { return compute_s + transfer_s(); }
  /// No lossless synchronous schedule is faster.
  double bound_s() const { return std::max(compute_s, one_way_s); }
};

/// 1: as fast as the bound; 0: no overlap; negative: additional waits.
inline double efficiency(const Load& load, double iteration_s) {
  return (load.serial_s() - iteration_s) / (load.serial_s() - load.bound_s());
}

/// Time saved over the shorter of computation and transfers (both ways): 1 if that is hidden
/// completely. More than 1 if push and pull also overlap each other.
inline double overlap(const Load& load, double iteration_s) {
  return (load.serial_s() - iteration_s) / std::min(load.compute_s, load.transfer_s());
}

/// Compute and one-way transfer in the lab, for the scheme's exchange.
Load load_of(const ReplaySettings& settings, const Model& model, const Links& links,
             Exchange exchange = Exchange::kServers);
/// One way for all tensors among workers that own equally many parts.
double one_way_among_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers);
/// One way for all of a worker's tensors, at a link's goodput. Servers have links of the same rate:
/// if there are fewer servers than workers, their links are the bottleneck.
double one_way_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers,
                 std::uint32_t servers);

/// Above this fraction of all processors the network may not have been the bottleneck.
inline constexpr double kMostCpu = 0.85;
/// The same if the 99th percentile of sleep lateness exceeds this fraction of an iteration: another
/// process then used the processors.
inline constexpr double kMostLate = 0.01;
/// Empty, or why the result is invalid.
std::string refusal(double cpu_used, double late_p99_s, double iteration_s);

/// The distance of the first and third quartile.
double interquartile_range(std::vector<double> values);

}  // namespace stretto::bench::experiments
