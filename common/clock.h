// SPDX-License-Identifier: Apache-2.0
// Time behind an interface, so that a whole cluster can run in virtual time.
#pragma once

#include "stretto/types.h"

namespace stretto {

/// A duration in seconds.
constexpr double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// `now + limit`, or Time::max() on overflow.
constexpr Time after(Time now, Duration limit) {
  return limit > Time::max() - now ? Time::max() : now + limit;
}

/// Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  /// Total scheduling delay of the calling thread: ready to run without a processor. Constant where
  /// the system does not report it.
  virtual Duration waited() const { return Duration::zero(); }
};

/// CLOCK_MONOTONIC, and Linux's scheduler statistics of the thread. waited() takes some
/// microseconds.
class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
  Duration waited() const override;
};

}  // namespace stretto
