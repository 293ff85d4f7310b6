// SPDX-License-Identifier: Apache-2.0
// WaitingList: who waits for a part's rounds and values. Nobody is looked at twice for the same
// reason: only newcomers, and all of them once rounds have moved on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "common/clock.h"
#include "server/aggregation/consistency.h"

namespace stretto {

/// A worker that waits for a value, or only to hear that the round is done.
struct Waiter {
  NodeId worker = 0;
  std::int32_t priority = 0;
  Time deadline = Time::max();
  bool wants_value = false;
  bool pushed = false;   ///< It waits for the answer to a share, not to a pull,
  bool assigns = false;  ///< and takes part in a broadcast by it.
  Consistency::Gate gate;
  Time since;
};

/// Thread: loop.
class WaitingList {
 public:
  void add(const Waiter& waiter) { waiters_.push_back(waiter); }
  /// Those whose wait is over, in the order in which they came; they wait no longer. Always asked
  /// with the same rounds.
  std::vector<Waiter> take_ready(const Consistency& rounds);
  /// These wait no longer, and are told nothing.
  void drop(const std::set<NodeId>& workers);
  /// Those of the open broadcast, ready or not.
  std::vector<Waiter> take_assigning();
  /// Everybody, ready or not.
  std::vector<Waiter> take_all();

  bool empty() const { return waiters_.empty(); }
  std::size_t size() const { return waiters_.size(); }
  const Waiter& oldest() const { return waiters_.front(); }
  std::size_t count_of(NodeId worker) const;

 private:
  std::vector<Waiter> waiters_;    // In the order in which they came.
  std::size_t looked_at_ = 0;      // So many of them, the first, must go on waiting
  std::uint64_t at_progress_ = 0;  // until the rounds have moved on from here.
};

}  // namespace stretto
