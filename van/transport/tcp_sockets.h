// SPDX-License-Identifier: Apache-2.0
// Addresses and calls of TCP sockets that transports share. None of them waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/descriptor.h"
#include "common/network/host_port.h"
#include "common/network/socket_address.h"
#include "stretto/status.h"

namespace stretto {

/// Where to listen for `address`, host:port with a host in digits or localhost, such as
/// "127.0.0.1:0". InvalidArgument for other texts: libzmq's syntax (tcp://, interfaces, source
/// addresses) is not for users.
Result<SocketAddress> listening_address(std::string_view address);
/// What to connect to for `address`, host:port.
Result<HostPort> remote_address(std::string_view address);

/// A TCP connection that has begun.
struct PendingConnect {
  Descriptor socket;
  int error = 0;  ///< Why it has failed already; 0: it has not.
};
/// Small messages leave at once. Resource if there is no socket.
Result<PendingConnect> begin_connect(const SocketAddress& to);
/// What has become of it: 0 where it is there, none while it is not known, or why it has failed.
std::optional<int> connect_outcome(int socket);

/// An accepted connection. Not open: nobody has connected, or, with `error`, there is no descriptor
/// for the connection.
struct AcceptedSocket {
  Descriptor socket;
  std::string host;    ///< In digits.
  bool local = false;  ///< Of this host.
  int error = 0;
};
/// Small messages leave at once.
AcceptedSocket accept_from(const Descriptor& listener);

}  // namespace stretto
