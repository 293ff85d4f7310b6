// SPDX-License-Identifier: Apache-2.0
// PendingConnections: accepted connections that are not admitted yet, and their total memory. Both
// are bounded.
#pragma once

#include <cstddef>
#include <set>

#include "van/tcp/connection.h"

namespace stretto::tcp {

/// Thread: loop. Pure bookkeeping.
class PendingConnections {
 public:
  void add(LinkId link) { links_.insert(link); }
  /// The connection has been admitted, or has ended.
  void remove(Connection& connection);
  /// Counts the memory that the connection holds now.
  void account(Connection& connection);
  /// The sum over all connections, as counted last.
  std::size_t held_bytes() const { return held_bytes_; }
  /// Oldest first.
  const std::set<LinkId>& links() const { return links_; }

 private:
  std::set<LinkId> links_;  // Sorted by age, since ids grow.
  std::size_t held_bytes_ = 0;
};

}  // namespace stretto::tcp
