// SPDX-License-Identifier: Apache-2.0
// PreaggregatedSums: the contributions of an open round that are sums of several workers', made
// before they arrived. Such a sum counts for each of its contributors, and is indivisible.
#pragma once

#include <vector>

#include "server/aggregation/consistency.h"
#include "server/aggregation/contribution.h"

namespace stretto {

/// The contributors of a round's sums. Thread: loop.
class PreaggregatedSums {
 public:
  void add(const std::vector<NodeId>& makers) { makers_.push_back(makers); }
  void clear() { makers_.clear(); }
  /// Whether the round can continue with `next`: kPeerLost if only some contributors of a sum are
  /// in it. A sum whose contributors are all gone is dropped.
  Status check_gone(const Contributors& before, const Contributors& next) const;

 private:
  std::vector<std::vector<NodeId>> makers_;
};

/// Whether a sum of `makers` may count now: only in a round that collects sums, with each
/// contributor once, and none that has already contributed.
Status check_sum(const Consistency& rounds, Mode mode, const Share& sum,
                 const std::vector<NodeId>& makers);

}  // namespace stretto
