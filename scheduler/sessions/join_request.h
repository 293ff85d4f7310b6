// SPDX-License-Identifier: Apache-2.0
// Converts a hello to an event of the view machine.
#pragma once

#include <string>

#include "scheduler/membership/view_events.h"
#include "van/control/control.h"

namespace stretto {

/// The request of this hello.
Join join_of(const control::Hello& hello);
/// Refused, with the expected and the actual value, if the hello is not valid for this job.
Result<Join> join_from(const control::Hello& hello, const std::string& token);

}  // namespace stretto
