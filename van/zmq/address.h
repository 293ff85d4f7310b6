// SPDX-License-Identifier: Apache-2.0
// Addresses as the project writes them, host:port, and as libzmq wants them.
#pragma once

#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto::zmq {

/// What to bind for `address`, such as "tcp://127.0.0.1:0".
Result<std::string> to_bind(std::string_view address);
/// What to connect to for `address`.
Result<std::string> to_connect(std::string_view address);
/// host:port of a bound endpoint. For one that is bound to every interface, the first address of
/// this host that others can reach.
std::string reachable(std::string_view endpoint);

}  // namespace stretto::zmq
