// SPDX-License-Identifier: Apache-2.0
// Sums of held memory.
#include "van/tcp/pending_connections.h"

#include <utility>

#include "common/check.h"

namespace stretto::tcp {

void PendingConnections::remove(Connection& connection) {
  links_.erase(connection.link);
  STRETTO_CHECK(held_bytes_ >= connection.accounted);
  held_bytes_ -= std::exchange(connection.accounted, 0);
}

void PendingConnections::account(Connection& connection) {
  const std::size_t held = connection.held_bytes();
  STRETTO_CHECK(held_bytes_ >= connection.accounted);
  held_bytes_ += held - std::exchange(connection.accounted, held);
}

}  // namespace stretto::tcp
