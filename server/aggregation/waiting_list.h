// SPDX-License-Identifier: Apache-2.0
// WaitingList: the workers that wait for a part's rounds and values. A pass checks only new
// waiters, and all of them once rounds have progressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "common/clock.h"
#include "server/aggregation/consistency.h"

namespace stretto {

/// A worker that waits for a value, or only for the end of a round.
struct Waiter {
  NodeId worker = 0;
  std::int32_t priority = 0;
  Time deadline = Time::max();
  bool wants_value = false;
  bool pushed = false;   ///< It waits for the answer to a contribution, not to a pull,
  bool assigns = false;  ///< which is its part in a broadcast.
  Consistency::Gate gate;
  Time since;
};

/// Thread: loop.
class WaitingList {
 public:
  void add(const Waiter& waiter) { waiters_.push_back(waiter); }
  /// Removes and returns waiters whose gate is open, in order of arrival. Always pass the same
  /// rounds.
  std::vector<Waiter> take_ready(const Consistency& rounds);
  /// Removes these waiters without an answer.
  void drop(const std::set<NodeId>& workers);
  /// Removes and returns those of the open broadcast, ready or not.
  std::vector<Waiter> take_assigning();
  /// Removes and returns all waiters, ready or not.
  std::vector<Waiter> take_all();

  bool empty() const { return waiters_.empty(); }
  std::size_t size() const { return waiters_.size(); }
  const Waiter& oldest() const { return waiters_.front(); }
  std::size_t count_of(NodeId worker) const;

 private:
  std::vector<Waiter> waiters_;    // In order of arrival.
  std::size_t looked_at_ = 0;      // This many at the front must wait
  std::uint64_t at_progress_ = 0;  // until the progress is beyond this.
};

}  // namespace stretto
