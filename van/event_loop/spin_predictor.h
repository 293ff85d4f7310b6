// SPDX-License-Identifier: Apache-2.0
// SpinPredictor: whether a loop that finds nothing should look again for a moment before it sleeps.
// To be woken costs 15 to 40 us, so where something comes within some such times it pays to look;
// and where it does not, what was spent on looking is lost.
//
//   sleeps that ended soon, in a row      it is tried
//   most tries find something             it goes on
//   more than a third find nothing        no more tries, until twice as many sleeps have ended soon
#pragma once

#include <algorithm>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure: told how waits ended, it answers.
class SpinPredictor {
 public:
  /// `bound`: for how long to look at most. Zero: never.
  explicit SpinPredictor(Duration bound) : bound_(bound) {}

  /// For how long to look before the next sleep.
  Duration length() const { return score_ > 0 ? bound_ : Duration::zero(); }

  /// It looked for so long, and found something or did not.
  void looked(Duration time, bool found) {
    if (found) {
      if (time < kAtOnce) return;  // It was there already, and would have been without a look.
      score_ = std::min(score_ + 1, kMost);
      needed_ = std::max(needed_ / 2, kLeastNeeded);
    } else if (time >= bound_) {
      score_ = std::max(score_ - 2, 0);
      if (score_ > 0) return;
      soon_ = 0;
      needed_ = std::min(needed_ * 2, kMostNeeded);
    }
  }
  /// It slept for so long, of at most `limit`.
  void slept(Duration time, Duration limit) {
    const bool soon = time <= bound_ + kWaking;
    const bool timed_out = time >= limit;  // Then something would have come later, if at all.
    if (bound_ == Duration::zero() || score_ > 0 || (soon && timed_out)) return;
    soon_ = soon ? soon_ + 1 : 0;
    if (soon_ >= needed_) score_ = kTrial;
  }

  /// What comes sooner was not waited for.
  static constexpr Duration kAtOnce = std::chrono::microseconds(2);
  /// By how much a sleep may be longer than a look that would have found the same: both ends slept,
  /// and each was woken.
  static constexpr Duration kWaking = std::chrono::microseconds(100);
  /// Sleeps that end soon before a first try, and at most after tries that failed.
  static constexpr int kLeastNeeded = 4;
  static constexpr int kMostNeeded = 1024;

 private:
  static constexpr int kTrial = 3;  // Two in vain end it.
  static constexpr int kMost = 8;

  const Duration bound_;
  int score_ = 0;  // Above 0 it looks.
  int soon_ = 0;   // Sleeps in a row that ended soon, while it does not look.
  int needed_ = kLeastNeeded;
};

}  // namespace stretto
