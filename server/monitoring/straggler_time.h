// SPDX-License-Identifier: Apache-2.0
// StragglerTime: how long rounds waited for each worker's shares once others were there. Parts wait
// side by side: time counts once.
#pragma once

#include <algorithm>
#include <vector>

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class StragglerTime {
 public:
  /// So many workers.
  void resize(std::size_t workers) { held_.resize(workers); }
  /// A round whose first waiter came at `first` was completed at `last`, by the share of `rank`.
  /// True if that adds to its time.
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
  Time until_;                  // and until when it has been counted.
};

}  // namespace stretto
