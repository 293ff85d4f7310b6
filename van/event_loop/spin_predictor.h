// SPDX-License-Identifier: Apache-2.0
// SpinPredictor: whether a loop without work should spin before it sleeps. A wake-up costs 15 to 40
// us: spinning pays if work arrives within a few such times, and else wastes the processor.
//
//   sleeps that ended soon, in a row      spinning is tried
//   most tries find work                  it continues
//   more than a third find none           no tries until twice as many sleeps have ended soon
#pragma once

#include <algorithm>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure: learns from how waits ended.
class SpinPredictor {
 public:
  /// `bound`: longest spin. Zero: never.
  explicit SpinPredictor(Duration bound) : bound_(bound) {}

  /// How long to spin before the next sleep.
  Duration length() const { return score_ > 0 ? bound_ : Duration::zero(); }

  /// A spin took `time`, and found work or not.
  void looked(Duration time, bool found) {
    if (found) {
      if (time < kAtOnce) return;  // Work was there already: the spin gained nothing.
      score_ = std::min(score_ + 1, kMost);
      needed_ = std::max(needed_ / 2, kLeastNeeded);
    } else if (time >= bound_) {
      score_ = std::max(score_ - 2, 0);
      if (score_ > 0) return;
      soon_ = 0;
      needed_ = std::min(needed_ * 2, kMostNeeded);
    }
  }
  /// A sleep took `time`, of at most `limit`.
  void slept(Duration time, Duration limit) {
    const bool soon = time <= bound_ + kWaking;
    const bool timed_out = time >= limit;  // Then work would have arrived later, if at all.
    if (bound_ == Duration::zero() || score_ > 0 || (soon && timed_out)) return;
    soon_ = soon ? soon_ + 1 : 0;
    if (soon_ >= needed_) score_ = kTrial;
  }

  /// Work that arrives sooner was not waited for.
  static constexpr Duration kAtOnce = std::chrono::microseconds(2);
  /// How much longer a sleep may be than a spin that finds the same work: both ends slept, and each
  /// was woken.
  static constexpr Duration kWaking = std::chrono::microseconds(100);
  /// Sleeps that end soon before the first try, and the limit after failed tries.
  static constexpr int kLeastNeeded = 4;
  static constexpr int kMostNeeded = 1024;

 private:
  static constexpr int kTrial = 3;  // Two failures end a trial.
  static constexpr int kMost = 8;

  const Duration bound_;
  int score_ = 0;  // Spins if above 0.
  int soon_ = 0;   // Consecutive sleeps that ended soon, without spinning.
  int needed_ = kLeastNeeded;
};

}  // namespace stretto
