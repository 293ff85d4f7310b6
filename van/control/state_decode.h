// SPDX-License-Identifier: Apache-2.0
// Words about what a part's server holds from their bytes.
#pragma once

#include "van/control/control.h"

namespace stretto::wire {
class Control;  // Protobuf's.
}  // namespace stretto::wire

namespace stretto::control {

/// Of a message that is a state request, a piece of state or a recall, or goes to or is about a
/// server that stands by; all others are malformed.
Result<Message> state_from(const wire::Control& message);

}  // namespace stretto::control
