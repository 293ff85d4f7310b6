// SPDX-License-Identifier: Apache-2.0
// SchedulerSilence: how long the scheduler has been silent, and when it last returned after an
// absence.
#pragma once

#include <algorithm>
#include <optional>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure: it gets times as arguments.
class SchedulerSilence {
 public:
  /// `ends_absence`: the scheduler was away until now, and decided nothing meanwhile.
  void end(Time now, bool ends_absence) {
    heard_at_ = now;
    if (ends_absence) back_at_ = now;
  }
  Duration lasts(Time now) const { return now - heard_at_; }
  /// The scheduler sends a heartbeat once in `heartbeat`.
  bool is_overdue(Time now, Duration heartbeat) const { return lasts(now) > 2 * heartbeat; }
  /// Extends a deadline for the scheduler: after its return it has `patience`.
  Time postpone(Time deadline, Duration patience) const {
    return back_at_ ? std::max(deadline, *back_at_ + patience) : deadline;
  }

 private:
  Time heard_at_ = {};
  std::optional<Time> back_at_;
};

}  // namespace stretto
