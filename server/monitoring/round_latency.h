// SPDX-License-Identifier: Apache-2.0
// RoundLatency: reports long finished waits for rounds to the scheduler, which learns the usual
// latency from them; and the number of finished rounds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/storage/slot.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Thread: loop.
class RoundLatency {
 public:
  /// Five times a shorter wait is no stall yet.
  static constexpr Duration kLong = 400ms;

  /// A contribution has counted in a part; `completed`: it finished a round. The first waiter came
  /// at `first`; if its condition held it has been answered.
  void counted(const Part& part, bool completed, Time first, Time now, Heartbeats& heartbeats) {
    if (completed) rounds_ = std::max(rounds_, part.collector.rounds().slowest());
    if (now - first < kLong) return;
    const bool waits_on = !part.waiting.empty() && part.waiting.oldest().since <= first;
    if (!waits_on) heartbeats.add_ended_wait({.rounds = rounds_, .time = now - first});
  }
  /// Rounds that all workers have finished, of the part with the most.
  std::uint64_t rounds() const { return rounds_; }

 private:
  std::uint64_t rounds_ = 0;
};

}  // namespace stretto
