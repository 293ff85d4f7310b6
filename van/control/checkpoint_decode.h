// SPDX-License-Identifier: Apache-2.0
// Words about checkpoints from their bytes. Numbers are held against what is known by whoever
// expects them.
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

/// How something ended elsewhere; code 0: well.
Status outcome_from(std::uint32_t code, const std::string& cause);

}  // namespace stretto::control
