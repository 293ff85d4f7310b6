// SPDX-License-Identifier: Apache-2.0
// Mail: links between processes in simulated time. A message is a function that is called at its
// arrival, delayed and in order.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "tests/sim/random.h"

namespace stretto::sim {

/// A process of a simulated job. A restarted process has another id.
using ProcessId = std::uint32_t;

/// Thread: the simulation's.
class Mail {
 public:
  using Work = std::function<void()>;

  Mail(std::uint64_t seed, Duration most_latency) : random_(seed), most_latency_(most_latency) {}

  Time now() const { return now_; }
  void after(Duration wait, Work work) { put(now_ + wait, std::move(work)); }
  void send(ProcessId from, ProcessId to, Work work) {
    Time& last = last_[{from, to}];
    last = std::max(last, now_ + random_.between(1us, most_latency_));
    put(last, std::move(work));
  }
  /// Delivers the next message; false if there is none.
  bool step() {
    if (coming_.empty()) return false;
    now_ = coming_.begin()->first.first;
    const Work work = std::move(coming_.begin()->second);
    coming_.erase(coming_.begin());
    work();
    return true;
  }

 private:
  void put(Time when, Work work) { coming_.emplace(std::pair(when, next_++), std::move(work)); }

  Random random_;
  Duration most_latency_;
  Time now_{std::chrono::seconds(1)};
  std::map<std::pair<Time, std::uint64_t>, Work> coming_;  // By time, then order of sending.
  std::map<std::pair<ProcessId, ProcessId>, Time> last_;   // Arrival on each link.
  std::uint64_t next_ = 0;
};

}  // namespace stretto::sim
