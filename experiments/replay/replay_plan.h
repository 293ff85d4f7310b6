// SPDX-License-Identifier: Apache-2.0
// The arithmetic of replay: how a model's iteration is brought down to the lab's links, what it
// must be compared with, and when a figure does not count. Pure, but for an order that is read
// from a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/models/models.h"
#include "experiments/replay/replay_settings.h"
#include "stretto/order.h"

namespace stretto::bench::experiments {

inline constexpr std::uint64_t kMaxPartBytes = 16 << 20;  ///< The largest that a job may have.

/// Elements of f32 that stand for `elements`, at least one.
inline std::uint64_t scaled_elements(std::uint64_t elements, std::uint32_t scale) {
  return elements < scale ? 1 : elements / scale;
}
inline std::uint64_t scaled_bytes(std::uint64_t bytes, std::uint32_t scale) {
  return 4 * scaled_elements(bytes / 4, scale);
}
std::uint64_t scaled_bytes(const Model& model, std::uint32_t scale);

/// Seconds of computing in one iteration of the lab. Transfers take scale * lab rate / rate times
/// as long as they would; so does the computation, and their ratio stays.
struct Compute {
  double forward_s = 0;
  double backward_s = 0;
  double total_s() const { return forward_s + backward_s; }
};
Compute compute_of(const ReplaySettings& settings, const Model& model);
/// Seconds of the original for one second of the lab.
double original_seconds(const ReplaySettings& settings);

/// Of the lab's, so after scaling.
std::uint64_t part_bytes_of(const ReplaySettings& settings, const Scheme& scheme);
/// Parts and windows of a scheme, as the environment of all processes says it.
std::vector<std::pair<std::string, std::string>> variables_of(const ReplaySettings& settings,
                                                              const Scheme& scheme);

/// What orders the scheme's tensors: --order, or its own.
std::string order_name(const ReplaySettings& settings, const Scheme& scheme);
/// One of registration, arrival, layer, random, tic, tac and file:PATH. `seed` is of random ones;
/// TAC is told the lab's times.
Result<Order> make_order(const std::string& name, const ReplaySettings& settings,
                         const Model& model, double bytes_per_second, std::uint64_t seed);

/// The lab's links: what one carries, and how many ends share them.
struct Links {
  double bytes_per_second = 0;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
};

// How good a schedule is: an iteration's time between the two that nothing but overlap tells apart.
// The measures are TicTac's (Hashemi et al., MLSys 2019), with pushes and pulls at the same time,
// as a full-duplex link carries them.

/// Seconds of one iteration: computation, and all transfers in one direction.
struct Load {
  double compute_s = 0;
  double one_way_s = 0;
  double ways = 2;  ///< By servers push and pull, one after the other; among workers one.

  double transfer_s() const { return ways * one_way_s; }
  /// Nothing overlaps: compute, push, pull.
  double serial_s() const { return compute_s + transfer_s(); }
  /// No lossless synchronous schedule is faster.
  double bound_s() const { return std::max(compute_s, one_way_s); }
};

/// 1: as fast as the bound; 0: nothing overlaps; negative: something waits besides.
inline double efficiency(const Load& load, double iteration_s) {
  return (load.serial_s() - iteration_s) / (load.serial_s() - load.bound_s());
}

/// Time saved over the shorter of computing and transferring (both ways): 1 if that is hidden
/// completely. More, where push and pull hide behind one another too.
inline double overlap(const Load& load, double iteration_s) {
  return (load.serial_s() - iteration_s) / std::min(load.compute_s, load.transfer_s());
}

/// Compute and one-way transfer in the lab, by the scheme's exchange.
Load load_of(const ReplaySettings& settings, const Model& model, const Links& links,
             Exchange exchange = Exchange::kServers);
/// One way for all tensors among workers, where each owns as many of the parts.
double one_way_among_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers);
/// One way for all of a worker's tensors, at a link's goodput. Servers have links of the same
/// rate: where there are fewer than workers, theirs are the bottleneck.
double one_way_s(std::uint64_t bytes, double bytes_per_second, std::uint32_t workers,
                 std::uint32_t servers);

/// Above this share of all processors the network may not have been the bottleneck,
inline constexpr double kMostCpu = 0.85;
/// nor where one sleep in a hundred ended later than this share of an iteration: somebody else had
/// the processors then.
inline constexpr double kMostLate = 0.01;
/// Empty, or why the figure does not count.
std::string refusal(double cpu_used, double late_p99_s, double iteration_s);

/// First and third quartile apart.
double interquartile_range(std::vector<double> values);

}  // namespace stretto::bench::experiments
