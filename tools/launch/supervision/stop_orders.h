// SPDX-License-Identifier: Apache-2.0
// Which members of an ending job get which signal, and the notes for the user. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tools/launch/supervision/evidence.h"
#include "tools/launch/supervision/lifecycle.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// Orders members to end, after the lifecycle has changed from the phase `before` to stopping or
/// leaving. `reason`: text for the user, which begins with a comma; may be empty.
void order_stop(JobEvidence& evidence, const Lifecycle& lifecycle, Lifecycle::Phase before,
                std::string_view reason, Reaction& reaction);

/// In the phase leaving: a worker that has ended `now` could not leave gracefully. Excuses servers
/// and scheduler that fail for that, as if the launcher had ended them.
void excuse_followers(JobEvidence& evidence, Time now);

/// Why members that did not end themselves get a signal: `reason` of order_stop().
std::string reason_to_stop(const Lifecycle& lifecycle, Lifecycle::Phase before, bool gathered);

/// Orders for replacements that cannot learn that the job has failed.
void stop_latecomers(JobEvidence& evidence, Reaction& reaction);

}  // namespace stretto::launch
