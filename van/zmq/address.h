// SPDX-License-Identifier: Apache-2.0
// Addresses as the project writes them, host:port. libzmq's own syntax (interfaces, source
// addresses) is not for users.
#pragma once

#include <string>
#include <string_view>

#include "common/host_port.h"
#include "common/socket_address.h"
#include "stretto/status.h"

namespace stretto::zmq {

/// Where to listen for `address`, such as "127.0.0.1:0".
Result<SocketAddress> listening_address(std::string_view address);
/// What to connect to for `address`.
Result<HostPort> far_address(std::string_view address);
/// As libzmq takes it.
std::string endpoint_of(const HostPort& address);

}  // namespace stretto::zmq
