// SPDX-License-Identifier: Apache-2.0
// Heartbeats from their bytes. What they tell is only looked at: it is cut to its limits, and
// nothing in it is an error.
#pragma once

#include "van/control/control.h"

namespace stretto::wire {
class Heartbeat;  // Protobuf's.
}  // namespace stretto::wire

namespace stretto::control {

Heartbeat heartbeat_from(const wire::Heartbeat& message);

}  // namespace stretto::control
