// SPDX-License-Identifier: Apache-2.0
// SpinBudget: when to ask whether processors are to spare, and for how long an answer holds. A
// thread that looks where others wait for its processor keeps them from their work.
#pragma once

#include <algorithm>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure.
class SpinBudget {
 public:
  /// True if it must be asked before one looks.
  bool is_due(Time now) const { return now >= next_; }
  /// The answer was that there are, or are not. Where more than one answer in twelve is no, as
  /// where processes outnumber processors and sleep now and then, the pauses grow to the longest.
  void told(bool spare, Time now) {
    spare_ = spare;
    next_ = now + (spare ? kHolds : pause_);
    pause_ = spare ? std::max(pause_ - pause_ / 16, kLeastPause) : std::min(pause_ * 2, kMostPause);
  }
  /// One that looked was kept from it for so long. What does not run for long has lost its
  /// processor to somebody.
  void kept_away(Duration time, Time now) {
    if (time > kMostAway) told(false, now);
  }
  /// As far as is known.
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
