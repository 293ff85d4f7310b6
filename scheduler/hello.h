// SPDX-License-Identifier: Apache-2.0
// From a hello on the wire to an event that the view machine takes, and from slots to the wire.
#pragma once

#include <string>
#include <vector>

#include "core/view.h"
#include "scheduler/view_events.h"
#include "van/messages.h"

namespace stretto {

/// Refused, with what was wanted and what was found, if the greeting is not one of this job's.
Result<Join> join_from(const wire::Hello& hello, const std::string& token);
/// Says who owns these slots.
void add_owners(const std::vector<SlotRun>& runs, wire::Declared& declared);

}  // namespace stretto
