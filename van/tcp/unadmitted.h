// SPDX-License-Identifier: Apache-2.0
// Unadmitted: the connections that have not been admitted: since when, and how much they hold
// together. Each may cost little, and all of them too.
#pragma once

#include <cstddef>
#include <set>

#include "van/tcp/connection.h"

namespace stretto::tcp {

/// Thread: loop. Pure bookkeeping.
class Unadmitted {
 public:
  void add(LinkId link) { links_.insert(link); }
  /// It has been admitted, or has ended.
  void remove(Connection& connection);
  /// Counts what the connection holds now.
  void account(Connection& connection);
  /// What all hold, as far as it was counted.
  std::size_t held_bytes() const { return held_bytes_; }
  /// The oldest first.
  const std::set<LinkId>& links() const { return links_; }

 private:
  std::set<LinkId> links_;  // Ids grow.
  std::size_t held_bytes_ = 0;
};

}  // namespace stretto::tcp
