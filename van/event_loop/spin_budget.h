// SPDX-License-Identifier: Apache-2.0
// SpinBudget: when to check for spare processors, and how long a result holds. A spinning thread
// delays other threads that wait for its processor.
#pragma once

#include <algorithm>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure.
class SpinBudget {
 public:
  /// True if a check is due before spinning.
  bool is_due(Time now) const { return now >= next_; }
  /// Result of a check. If more than one in twelve is negative, as when processes outnumber
  /// processors and sleep at times, the pauses grow to the longest.
  void told(bool spare, Time now) {
    spare_ = spare;
    next_ = now + (spare ? kHolds : pause_);
    pause_ = spare ? std::max(pause_ - pause_ / 16, kLeastPause) : std::min(pause_ * 2, kMostPause);
  }
  /// A spinning thread was descheduled for `time`. A long gap means that another thread used its
  /// processor.
  void kept_away(Duration time, Time now) {
    if (time > kMostAway) told(false, now);
  }
  /// Result of the last check.
  bool is_spare() const { return spare_; }

  static constexpr Duration kHolds = std::chrono::milliseconds(1);
  static constexpr Duration kLeastPause = std::chrono::milliseconds(2);
  static constexpr Duration kMostPause = std::chrono::milliseconds(256);
  static constexpr Duration kMostAway = std::chrono::microseconds(100);

 private:
  bool spare_ = false;
  Duration pause_ = kLeastPause;
  Time next_ = Time::min();
};

}  // namespace stretto
