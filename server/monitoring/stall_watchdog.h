// SPDX-License-Identifier: Apache-2.0
// StallWatchdog: looks now and then for parts whose waiters have waited long: has those fail that
// have waited too long, and says which the scheduler is to hear of.
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
  /// A worker pauses (Worker::pause()): until now no wait has been too long.
  void excuse(Time now) { excused_ = now; }
  /// Once it is due. Parts that have waited too long go to `fail`; what is to be shown is returned.
  StalledRounds look(OwnedSlots& slots, const JobSettings& settings, Time now, const Fail& fail);

 private:
  Time next_;
  Time excused_;
};

}  // namespace stretto
