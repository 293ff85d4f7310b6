// SPDX-License-Identifier: Apache-2.0
// Decoding of heartbeats. Their contents are only displayed: values are truncated to their limits,
// and none is an error.
#pragma once

#include "van/control/control.h"

namespace stretto::wire {
class Heartbeat;  // Protobuf's.
}  // namespace stretto::wire

namespace stretto::control {

Heartbeat heartbeat_from(const wire::Heartbeat& message);

}  // namespace stretto::control
