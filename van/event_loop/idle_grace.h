// SPDX-License-Identifier: Apache-2.0
// IdleGrace: for how long nobody drives a loop after a wait. While something is in flight that is a
// fifth of the time at most, however waits and computing take turns.
#pragma once

#include <algorithm>
#include <compare>

#include "stretto/types.h"

namespace stretto {

/// Thread: any, one at a time. Pure.
class IdleGrace {
 public:
  /// While nothing can come but control messages, and the longest while something is in flight.
  static constexpr Duration kIdle = std::chrono::microseconds(500);
  static constexpr Duration kBusy = std::chrono::microseconds(100);

  auto operator<=>(const IdleGrace&) const = default;

  /// A driver leaves: how long a rest may be.
  Duration begin(bool idle, Time now) {
    if (left_ < kBusy) left_ = std::min(kBusy, left_ + (now - since_) / kDrivenToRest);
    rests_ = !idle;
    since_ = rests_ ? now : Time();
    return idle ? kIdle : left_;
  }
  /// Somebody drives.
  void end(Time now) {
    if (rests_) left_ = std::max(Duration::zero(), left_ - (now - since_));
    rests_ = false;
    since_ = left_ < kBusy ? now : Time();
  }

 private:
  static constexpr int kDrivenToRest = 4;

  Duration left_ = kBusy;
  bool rests_ = false;  // Nobody drives, while something is in flight.
  Time since_{};        // That has begun, or ended: where it makes a difference.
};

}  // namespace stretto
