// SPDX-License-Identifier: Apache-2.0
// SchedulerSilence: how long a member has heard nothing of its scheduler, and when the scheduler
// was last heard again after it had been away.
#pragma once

#include <algorithm>
#include <optional>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure: it is told times.
class SchedulerSilence {
 public:
  /// `ends_absence`: the scheduler was away until now, and decided nothing meanwhile.
  void end(Time now, bool ends_absence) {
    heard_at_ = now;
    if (ends_absence) back_at_ = now;
  }
  Duration lasts(Time now) const { return now - heard_at_; }
  /// The scheduler shows a sign of life once in `heartbeat`.
  bool is_overdue(Time now, Duration heartbeat) const { return lasts(now) > 2 * heartbeat; }
  /// A deadline of what the scheduler decides: a scheduler that is back has `patience` for it.
  Time postpone(Time deadline, Duration patience) const {
    return back_at_ ? std::max(deadline, *back_at_ + patience) : deadline;
  }

 private:
  Time heard_at_ = {};
  std::optional<Time> back_at_;
};

}  // namespace stretto
