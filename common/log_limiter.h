// SPDX-License-Identifier: Apache-2.0
// LogLimiter: what is wrong again and again is said at once, and then once a minute: a log must not
// fill a disk with it.
#pragma once

#include <chrono>

#include "common/clock.h"

namespace stretto {

/// Thread: its owner's (a value).
class LogLimiter {
 public:
  static constexpr Duration kEvery = std::chrono::minutes(1);

  /// It is so now: whether that is to be said.
  bool due(Time now) {
    if (now < next_) return false;
    next_ = now + kEvery;
    return true;
  }

 private:
  Time next_ = Time::min();
};

}  // namespace stretto
