// SPDX-License-Identifier: Apache-2.0
// PolledClock: time that passes only while a transport is polled.
//
// While a loop stands still (a stopped process, a long turn, an endpoint that takes long to open)
// what far ends have sent waits in the kernel: their silence says nothing about them.
#pragma once

#include <algorithm>

#include "common/clock.h"

namespace stretto {

/// Between two looks `most` passes at the most, however long it was. Thread: loop. The clock
/// outlives it.
class PolledClock {
 public:
  PolledClock(const Clock& clock, Duration most)
      : clock_(clock), most_(most), looked_(clock.now()), time_(looked_) {}

  Time now() const { return at(clock_.now()); }
  /// A poll is over: now().
  Time look() {
    const Time real = clock_.now();
    time_ = at(real);
    looked_ = real;
    return time_;
  }
  /// A transport that waits for a time must look as often as this.
  Duration most() const { return most_; }

 private:
  Time at(Time real) const { return time_ + std::min(Duration(real - looked_), most_); }

  const Clock& clock_;
  Duration most_;
  Time looked_;  // By the clock,
  Time time_;    // and by this one.
};

}  // namespace stretto
