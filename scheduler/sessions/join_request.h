// SPDX-License-Identifier: Apache-2.0
// From a hello to an event that the view machine takes.
#pragma once

#include <string>

#include "scheduler/membership/view_events.h"
#include "van/control/control.h"

namespace stretto {

/// What it asks.
Join join_of(const control::Hello& hello);
/// Refused, with what was wanted and what was found, if the greeting is not one of this job's.
Result<Join> join_from(const control::Hello& hello, const std::string& token);

}  // namespace stretto
