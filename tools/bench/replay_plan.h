// SPDX-License-Identifier: Apache-2.0
// The arithmetic of replay: how a model's iteration is brought down to the lab's links, what it
// must be compared with, and when a figure does not count. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/models.h"
#include "tools/bench/overlap.h"
#include "tools/bench/replay_settings.h"

namespace stretto::bench {

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

}  // namespace stretto::bench
