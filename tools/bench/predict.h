// SPDX-License-Identifier: Apache-2.0
// What an iteration would take if nothing but the schedule cost time: an event model of one worker
// on one link, to hold beside what was measured. Pure.
//
// Each direction carries one part after another, the most urgent of those that wait and then the
// one that came first. A part's way back begins when it has been pushed: sums take no time, and
// neither do messages. One computation runs at a time, in the order of the layers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/bench/models.h"
#include "tools/bench/replay_schemes.h"

namespace stretto::bench {

struct Ideal {
  Flow flow = Flow::kPushPull;
  std::vector<std::vector<std::uint32_t>> tensors;  ///< Of each layer.
  std::vector<double> forward_s;                    ///< Of each layer.
  std::vector<double> backward_s;
  std::vector<std::uint64_t> bytes;  ///< Of each tensor.
  std::uint64_t part_bytes = 1;      ///< Tensors travel in parts of so much.
  double bytes_per_second = 1;
  /// Of each tensor in an iteration; higher goes first.
  std::function<std::vector<int>(std::uint32_t iteration)> priorities;
};

/// Seconds from one iteration's beginning to the next's: the mean of the last `measured`, after
/// `warm_up` others.
double predicted_s(const Ideal& ideal, std::uint32_t warm_up, std::uint32_t measured);

}  // namespace stretto::bench
