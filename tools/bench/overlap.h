// SPDX-License-Identifier: Apache-2.0
// How good a schedule is: an iteration's time between the two that nothing but overlap tells
// apart. Pure. The measures are TicTac's (Hashemi et al., MLSys 2019), with pushes and pulls at the
// same time, as a full-duplex link carries them.
#pragma once

#include <algorithm>

namespace stretto::bench {

/// Seconds of one iteration: computation, and all transfers in one direction.
struct Load {
  double compute_s = 0;
  double one_way_s = 0;

  /// Nothing overlaps: compute, push, pull.
  double serial_s() const { return compute_s + 2 * one_way_s; }
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
  return (load.serial_s() - iteration_s) / std::min(load.compute_s, 2 * load.one_way_s);
}

}  // namespace stretto::bench
