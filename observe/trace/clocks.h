// SPDX-License-Identifier: Apache-2.0
// Aligns the clocks of hosts by causality: no message arrives before it was sent. For each pair of
// nodes, half the difference of the least delays in both directions is the difference of their
// clocks. Least squares over all pairs gives one shift per node (as dPRO does, MLSys 2022, and
// NTP).
#pragma once

#include <vector>

#include "observe/trace/timeline.h"

namespace stretto::trace {

struct Clocks {
  std::vector<double> shift_ns;    ///< By index in trace.nodes: lead of each clock over the first.
  double most_residual_ns = 0;     ///< Largest deviation of a pair from its shifts.
  double least_round_trip_ns = 0;  ///< Of any pair: half of it limits the accuracy.
  std::size_t pairs = 0;           ///< With messages in both directions.
};

Clocks clocks_of(const Trace& trace);
/// Subtracts the shifts from the times of all records.
void align(Trace& trace, const Clocks& clocks);

}  // namespace stretto::trace
