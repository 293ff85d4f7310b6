// SPDX-License-Identifier: Apache-2.0
// LogLimiter: logs a repeated problem at once, and then once a minute, so that the log does not
// fill a disk.
#pragma once

#include <chrono>

#include "common/clock.h"

namespace stretto {

/// Thread: its owner's (a value).
class LogLimiter {
 public:
  static constexpr Duration kEvery = std::chrono::minutes(1);

  /// The problem occurs now: true if it should be logged.
  bool due(Time now) {
    if (now < next_) return false;
    next_ = now + kEvery;
    return true;
  }

 private:
  Time next_ = Time::min();
};

}  // namespace stretto
