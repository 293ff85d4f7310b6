// SPDX-License-Identifier: Apache-2.0
// IdleGrace: how long a loop may stay without a driver after a wait. While operations are in flight
// that is at most a fifth of the time, in any pattern of waits and computation.
#pragma once

#include <algorithm>
#include <compare>

#include "stretto/types.h"

namespace stretto {

/// Thread: any, one at a time. Pure.
class IdleGrace {
 public:
  /// While only control messages can arrive, and the longest grace with operations in flight.
  static constexpr Duration kIdle = std::chrono::microseconds(500);
  static constexpr Duration kBusy = std::chrono::microseconds(100);

  auto operator<=>(const IdleGrace&) const = default;

  /// A driver leaves: returns the limit of the grace.
  Duration begin(bool idle, Time now) {
    if (left_ < kBusy) left_ = std::min(kBusy, left_ + (now - since_) / kDrivenToRest);
    rests_ = !idle;
    since_ = rests_ ? now : Time();
    return idle ? kIdle : left_;
  }
  /// A thread drives again.
  void end(Time now) {
    if (rests_) left_ = std::max(Duration::zero(), left_ - (now - since_));
    rests_ = false;
    since_ = left_ < kBusy ? now : Time();
  }

 private:
  static constexpr int kDrivenToRest = 4;

  Duration left_ = kBusy;
  bool rests_ = false;  // No thread drives, with operations in flight.
  Time since_{};        // Begin or end of the grace, where it matters.
};

}  // namespace stretto
