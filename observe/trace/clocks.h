// SPDX-License-Identifier: Apache-2.0
// Clocks of hosts, brought together by causality: nothing arrives before it was sent. Of every pair
// of nodes the least observed delays in both directions are halved into a difference of their
// clocks, and least squares over all pairs makes of the differences one shift for each node (as
// dPRO does, MLSys 2022, and NTP before it).
#pragma once

#include <vector>

#include "observe/trace/timeline.h"

namespace stretto::trace {

struct Clocks {
  std::vector<double>
      shift_ns;                 ///< Beside trace.nodes: how far each clock is ahead of the first's.
  double most_residual_ns = 0;  ///< By which a pair differs from what its shifts say, at most.
  double least_round_trip_ns = 0;  ///< Of any pair: no difference is known better than half of it.
  std::size_t pairs = 0;           ///< That were heard in both directions.
};

Clocks clocks_of(const Trace& trace);
/// Takes the shifts out of every record.
void align(Trace& trace, const Clocks& clocks);

}  // namespace stretto::trace
