// SPDX-License-Identifier: Apache-2.0
// How a role gets a transport without knowing which kinds there are.
#pragma once

#include <memory>

#include "van/transport.h"

namespace stretto {

/// The transport for real processes: ZeroMQ over TCP.
Result<std::unique_ptr<Transport>> make_transport();

}  // namespace stretto
