// SPDX-License-Identifier: Apache-2.0
// Loop: how a role's single-threaded object is driven. Production calls run() on a thread; the
// simulator calls step() itself, in virtual time. The objects are the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <new>

#include "common/clock.h"
#include "common/memory.h"

namespace stretto {

/// A role: a single-threaded object that is only ever called by its driver. Thread: loop.
class LoopTask {
 public:
  virtual ~LoopTask() = default;
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
inline void run(LoopTask& agent, const Clock& clock, const std::atomic<bool>& stop) {
  while (!agent.over() && !stop.load(std::memory_order_acquire)) {
    agent.step(wait_until(agent.next_due(), clock.now()));
  }
}

/// Longest that a loop goes on without memory, to tell others that it has none.
inline constexpr Duration kPatienceWithoutMemory = std::chrono::seconds(2);

/// run(), of an agent that has somebody to tell: where memory runs out `give_up(status)` is called,
/// which must bring it to its end; what it held is free again then. Throws on what is thrown if
/// that takes too long.
template <typename GiveUp>
void run_or_give_up(LoopTask& agent, const Clock& clock, const std::atomic<bool>& stop,
                    const GiveUp& give_up) {
  for (Time until = Time::max();;) {
    try {
      return run(agent, clock, stop);
    } catch (const std::bad_alloc& thrown) {
      const Time now = clock.now();
      if (now > until) throw;
      until = std::min(until, now + kPatienceWithoutMemory);
      give_up(out_of_memory(thrown));
    }
  }
}

}  // namespace stretto
