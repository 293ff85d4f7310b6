// SPDX-License-Identifier: Apache-2.0
// PolledTime: time that passes only while the loop runs. While it stands still (a stopped process,
// a long turn) what far ends have sent waits in the kernel: that is not held against them.
#pragma once

#include <algorithm>

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto::tcp {

/// Thread: loop. The clock outlives it.
class PolledTime {
 public:
  explicit PolledTime(const Clock& clock)
      : clock_(clock), polled_(clock.now()), polled_now_(polled_) {}

  Time now() const { return at(clock_.now()); }
  /// A poll is over: now().
  Time poll() {
    const Time now = clock_.now();
    polled_now_ = at(now);
    polled_ = now;
    return polled_now_;
  }

 private:
  // A loop that has links polls twice a second (LinkLiveness::interval).
  static constexpr Duration kMostBetweenPolls = 1s;

  Time at(Time now) const {
    return polled_now_ + std::min<Duration>(now - polled_, kMostBetweenPolls);
  }

  const Clock& clock_;
  Time polled_;      // At the last poll, by the clock,
  Time polled_now_;  // and by this one.
};

}  // namespace stretto::tcp
