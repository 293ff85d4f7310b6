// SPDX-License-Identifier: Apache-2.0
// Loop: how a role's single-threaded object is driven. Production calls run() on a thread; the
// simulator calls step() itself, in virtual time. The objects are the same.
#pragma once

#include <atomic>

#include "common/clock.h"

namespace stretto {

/// A role: a single-threaded object that is only ever called by its driver. Thread: loop.
class Agent {
 public:
  virtual ~Agent() = default;
  /// Handles what has come and what is due, waiting for it at most `wait`.
  virtual void step(Duration wait) = 0;
  /// When it wants to be stepped at the latest even if nothing comes.
  virtual Time next_due() const = 0;
  /// True once there is nothing left to do: the driver may stop.
  virtual bool over() const = 0;
};

/// Longest that a loop waits without looking around.
inline constexpr Duration kLongestWait = std::chrono::seconds(1);

inline Duration wait_until(Time due, Time now) {
  if (due <= now) return Duration::zero();
  return due - now < kLongestWait ? due - now : kLongestWait;
}

/// Steps the agent until it is over or `stop` is set (after which the agent should be woken).
inline void run(Agent& agent, const Clock& clock, const std::atomic<bool>& stop) {
  while (!agent.over() && !stop.load(std::memory_order_acquire)) {
    agent.step(wait_until(agent.next_due(), clock.now()));
  }
}

}  // namespace stretto
