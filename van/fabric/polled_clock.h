// SPDX-License-Identifier: Apache-2.0
// PolledClock: the time for which a transport has been polled.
//
// Why: nothing moves at an end that is not polled, so what it waits for cannot come meanwhile, and
// its silence says nothing about the far end. Opening an endpoint of libfabric alone may take
// hundreds of milliseconds; whoever opens thirty before the first poll would find the first links
// out of time.
#pragma once

#include <algorithm>

#include "common/clock.h"

namespace stretto::fabric {

/// Between two looks `most` passes at the most, however long it was. Thread: loop.
class PolledClock {
 public:
  explicit PolledClock(Duration most) : most_(most), looked_(real_.now()), time_(looked_) {}

  Time now() const { return time_ + std::min(Duration(real_.now() - looked_), most_); }
  void look() {
    const Time real = real_.now();
    time_ += std::min(Duration(real - looked_), most_);
    looked_ = real;
  }
  /// Who waits for a time must look as often as this.
  Duration most() const { return most_; }

 private:
  SteadyClock real_;
  Duration most_;
  Time looked_;
  Time time_;
};

}  // namespace stretto::fabric
