// SPDX-License-Identifier: Apache-2.0
// PolledClock: a clock that runs only while a transport is polled.
//
// A loop may be suspended: a stopped process, a long iteration, an endpoint that opens slowly.
// Received data then waits in the kernel, and a peer's silence says nothing about the peer.
#pragma once

#include <algorithm>

#include "common/clock.h"

namespace stretto {

/// Between two look() calls time advances by at most `most`. Thread: loop. The clock must outlive
/// it.
class PolledClock {
 public:
  PolledClock(const Clock& clock, Duration most)
      : clock_(clock), most_(most), looked_(clock.now()), time_(looked_) {}

  Time now() const { return at(clock_.now()); }
  /// To be called after each poll: returns now().
  Time look() {
    const Time real = clock_.now();
    time_ = at(real);
    looked_ = real;
    return time_;
  }
  /// A transport that waits for a deadline must call look() at least this often.
  Duration most() const { return most_; }

 private:
  Time at(Time real) const { return time_ + std::min(Duration(real - looked_), most_); }

  const Clock& clock_;
  Duration most_;
  Time looked_;  // By the clock,
  Time time_;    // and by this one.
};

}  // namespace stretto
