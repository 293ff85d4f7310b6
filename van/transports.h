// SPDX-License-Identifier: Apache-2.0
// How a role gets a transport without knowing which kinds there are.
#pragma once

#include <memory>

#include "van/transport.h"

namespace stretto {

/// The transport for real processes: ZeroMQ over TCP. Frames with a larger payload than a control
/// message or a part of `part_bytes` (0: no parts come here) end their link: until somebody has
/// been admitted, that is all the memory that a connection can take.
Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes);

}  // namespace stretto
