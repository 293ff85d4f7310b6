// SPDX-License-Identifier: Apache-2.0
// LoopTask and run(): how the single-threaded object of a role is driven. Production calls run() on
// a thread; the simulator calls step() in virtual time. The objects are the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <new>

#include "common/clock.h"
#include "common/memory.h"

namespace stretto {

/// A role: a single-threaded object that only its driver calls. Thread: loop.
class LoopTask {
 public:
  virtual ~LoopTask() = default;
  /// Handles events and due work, waiting at most `wait` for an event.
  virtual void step(Duration wait) = 0;
  /// The latest time of the next step() if no event arrives.
  virtual Time next_due() const = 0;
  /// True if no work is left: the driver may stop.
  virtual bool over() const = 0;
};

/// Longest wait of a loop before it checks again.
inline constexpr Duration kLongestWait = std::chrono::seconds(1);

inline Duration wait_until(Time due, Time now) {
  if (due <= now) return Duration::zero();
  return due - now < kLongestWait ? due - now : kLongestWait;
}

/// Steps the agent until it is over or `stop` is set; the caller should then wake the agent.
inline void run(LoopTask& agent, const Clock& clock, const std::atomic<bool>& stop) {
  while (!agent.over() && !stop.load(std::memory_order_acquire)) {
    agent.step(wait_until(agent.next_due(), clock.now()));
  }
}

/// How long a loop may run without memory, to report that to peers.
inline constexpr Duration kPatienceWithoutMemory = std::chrono::seconds(2);

/// run() for an agent with peers to notify: without memory, `give_up(status)` is called. It must
/// end the agent; the agent's memory is free then. Rethrows if that takes too long.
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
