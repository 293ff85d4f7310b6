// SPDX-License-Identifier: Apache-2.0
// The socket calls of who connects, none of which waits.
#pragma once

#include <optional>

#include "common/descriptor.h"
#include "common/socket_address.h"
#include "stretto/status.h"

namespace stretto::tcp {

/// A TCP connection that has begun.
struct Dialed {
  Descriptor socket;
  int error = 0;  ///< Why it has failed already; 0: it has not.
};
/// Towards this host (`local`) its send buffer is of a size. Resource if there is no socket.
Result<Dialed> dial(const SocketAddress& to, bool local);

/// What has become of it: 0 where it is there, none while it is not known, or why it has failed.
std::optional<int> outcome_of(int socket);

}  // namespace stretto::tcp
