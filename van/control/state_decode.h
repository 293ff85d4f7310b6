// SPDX-License-Identifier: Apache-2.0
// Decoding of messages about the state of a part's server.
#pragma once

#include "van/control/control.h"

namespace stretto::wire {
class Control;  // Protobuf's.
}  // namespace stretto::wire

namespace stretto::control {

/// Decodes a state request, a piece of state, a recovery query, or a message to or about a standby;
/// other messages are malformed.
Result<Message> state_from(const wire::Control& message);

}  // namespace stretto::control
