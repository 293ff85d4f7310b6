// SPDX-License-Identifier: Apache-2.0
// StragglerTime: how long rounds waited for each worker's contributions after the first one. Parts
// wait concurrently: overlapping time counts once.
#pragma once

#include <algorithm>
#include <vector>

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class StragglerTime {
 public:
  /// Sets the number of workers.
  void resize(std::size_t workers) { held_.resize(workers); }
  /// A round whose first waiter came at `first` was completed at `last` by the contribution of
  /// `rank`. True if that adds to the time of `rank`.
  bool note(Rank rank, Time first, Time last) {
    const Time from = std::max(first, until_);
    if (last <= from) return false;
    until_ = last;
    if (rank >= held_.size()) held_.resize(rank + 1);
    held_[rank] += last - from;
    return true;
  }
  Duration of(Rank rank) const { return held_[rank]; }
  std::size_t workers() const { return held_.size(); }

 private:
  std::vector<Duration> held_;  // By rank,
  Time until_;                  // End of the time counted so far.
};

}  // namespace stretto
