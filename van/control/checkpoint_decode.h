// SPDX-License-Identifier: Apache-2.0
// Decoding of checkpoint messages. The receiver checks their numbers against its own state.
#pragma once

#include <string>

#include "van/control/control.h"

namespace stretto::wire {
class CheckpointCut;  // Protobuf's.
class CheckpointEnded;
class CheckpointSaved;
}  // namespace stretto::wire

namespace stretto::control {

Result<Message> cut_from(const wire::CheckpointCut& cut);
CheckpointSaved saved_from(const wire::CheckpointSaved& saved);
CheckpointEnded ended_from(const wire::CheckpointEnded& ended);

/// Outcome of a remote operation; code 0: success.
Status outcome_from(std::uint32_t code, const std::string& cause);

}  // namespace stretto::control
