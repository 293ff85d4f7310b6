// SPDX-License-Identifier: Apache-2.0
// Addresses and calls of TCP sockets that transports share. None of them blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/descriptor.h"
#include "common/network/host_port.h"
#include "common/network/socket_address.h"
#include "stretto/status.h"

namespace stretto {

/// Where to listen for `address`, host:port with a numeric host or localhost, such as
/// "127.0.0.1:0". kInvalidArgument for other texts: libzmq's syntax (tcp://, interfaces, source
/// addresses) is not for users.
Result<SocketAddress> listening_address(std::string_view address);
/// Where to connect for `address`, host:port.
Result<HostPort> remote_address(std::string_view address);

/// A TCP connection that is being established.
struct PendingConnect {
  Descriptor socket;
  int error = 0;  ///< Why it has failed already; 0: it has not.
};
/// Disables Nagle's delay. kResource if there is no socket.
Result<PendingConnect> begin_connect(const SocketAddress& to);
/// The outcome of a connect: 0 if connected, none while it is pending, or its errno.
std::optional<int> connect_outcome(int socket);

/// An accepted connection. If not open: no connection waits, or, with `error`, no descriptor is
/// free.
struct AcceptedSocket {
  Descriptor socket;
  std::string host;    ///< Numeric.
  bool local = false;  ///< The peer is on this host.
  int error = 0;
};
/// Disables Nagle's delay.
AcceptedSocket accept_from(const Descriptor& listener);

}  // namespace stretto
