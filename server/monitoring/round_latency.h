// SPDX-License-Identifier: Apache-2.0
// RoundLatency: how long waits for rounds took that were long and are over, for the scheduler,
// which wants to know what is usual; and how many rounds are done.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/storage/slot.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Thread: loop.
class RoundLatency {
 public:
  /// Five times a shorter one is no standstill yet.
  static constexpr Duration kLong = 400ms;

  /// A share has counted in a part, and done a round or not. Whoever waited first had come at
  /// `first`, and has been answered if there was reason to.
  void counted(const Part& part, bool completed, Time first, Time now, Heartbeats& heartbeats) {
    if (completed) rounds_ = std::max(rounds_, part.collector.rounds().slowest());
    if (now - first < kLong) return;
    const bool waits_on = !part.waiting.empty() && part.waiting.oldest().since <= first;
    if (!waits_on) heartbeats.add_ended_wait({.rounds = rounds_, .time = now - first});
  }
  /// That all workers have done, of the part with most.
  std::uint64_t rounds() const { return rounds_; }

 private:
  std::uint64_t rounds_ = 0;
};

}  // namespace stretto
