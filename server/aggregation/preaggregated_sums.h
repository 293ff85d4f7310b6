// SPDX-License-Identifier: Apache-2.0
// PreaggregatedSums: which shares of an open round are sums of several workers' contributions, made
// before they came here. Such a sum counts for each of its makers, and cannot be taken apart again.
#pragma once

#include <vector>

#include "server/aggregation/consistency.h"
#include "server/aggregation/contribution.h"

namespace stretto {

/// The makers of a round's sums. Thread: loop.
class PreaggregatedSums {
 public:
  void add(const std::vector<NodeId>& makers) { makers_.push_back(makers); }
  void clear() { makers_.clear(); }
  /// Whether the round can be made by these: kPeerLost if of a sum's makers some are among them and
  /// others are not. A sum whose makers are all gone goes with them.
  Status check_gone(const Contributors& before, const Contributors& next) const;

 private:
  std::vector<std::vector<NodeId>> makers_;
};

/// Whether a sum of these may count now, in that mode: in a round that collects sums, of each maker
/// once, and of none whose share is there already.
Status check_sum(const Consistency& rounds, Mode mode, const Share& sum,
                 const std::vector<NodeId>& makers);

}  // namespace stretto
