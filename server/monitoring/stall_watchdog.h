// SPDX-License-Identifier: Apache-2.0
// StallWatchdog: periodically checks for long waits on parts: fails those beyond the timeout, and
// returns those to report to the scheduler.
#pragma once

#include <functional>

#include "common/config/config.h"
#include "server/monitoring/stalled_rounds.h"
#include "server/storage/owned_slots.h"

namespace stretto {

/// Thread: loop.
class StallWatchdog {
 public:
  using Fail = std::function<void(Part&, const Status&)>;

  Time next_due() const { return next_; }
  /// A worker pauses (Worker::pause()): waits up to now do not count.
  void excuse(Time now) { excused_ = now; }
  /// Call once due. Parts beyond the timeout go to `fail`; returns the stalls to report.
  StalledRounds look(OwnedSlots& slots, const JobSettings& settings, Time now, const Fail& fail);

 private:
  Time next_;
  Time excused_;
};

}  // namespace stretto
