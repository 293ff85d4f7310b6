// SPDX-License-Identifier: Apache-2.0
// Which members of a job that ends get which signal, and what the user reads of it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tools/launch/supervision/evidence.h"
#include "tools/launch/supervision/lifecycle.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// The lifecycle has come from the phase `before` to stopping, or to leaving: orders to end.
/// `reason`: text for the user, which begins with a comma; may be empty.
void order_stop(JobEvidence& evidence, const Lifecycle& lifecycle, Lifecycle::Phase before,
                std::string_view reason, Reaction& reaction);

/// In the phase leaving: servers and scheduler that fail since a worker was not able to leave in
/// order, which has ended `now`, are excused as if the launcher had told them to end.
void excuse_followers(JobEvidence& evidence, Time now);

/// Why members that did not end by themselves are sent a signal: `reason` of order_stop().
std::string reason_to_stop(const Lifecycle& lifecycle, Lifecycle::Phase before, bool gathered);

/// The job has failed: orders for replacements that cannot hear of it.
void stop_latecomers(JobEvidence& evidence, Reaction& reaction);

}  // namespace stretto::launch
