// SPDX-License-Identifier: Apache-2.0
// Time comes in by an interface, so that a whole cluster can run in virtual time.
#pragma once

#include "stretto/types.h"

namespace stretto {

/// A duration in seconds.
constexpr double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// When `limit` will have passed; the end of time if that is later than can be told.
constexpr Time after(Time now, Duration limit) {
  return limit > Time::max() - now ? Time::max() : now + limit;
}

/// Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  /// How long the calling thread has been ready to run and waited for a processor, in all. It may
  /// stand still: where nobody can tell.
  virtual Duration waited() const { return Duration::zero(); }
};

/// CLOCK_MONOTONIC, and what Linux's scheduler tells of a thread. Looking at what was waited takes
/// some microseconds.
class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
  Duration waited() const override;
};

}  // namespace stretto
