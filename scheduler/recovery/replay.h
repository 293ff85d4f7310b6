// SPDX-License-Identifier: Apache-2.0
// What a scheduler makes of the journal of the one before it: the same decisions in the same order
// lead to the same views, identities, names and slots.
#pragma once

#include <vector>

#include "scheduler/checkpoint/checkpoint_keeper.h"
#include "scheduler/coordination/coordination.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/monitoring/job_monitor.h"

namespace stretto {

/// What it leads to. All outlive the call.
struct ReplayTarget {
  ViewMachine& machine;
  MembershipJournal& chronicle;
  Coordination& agreements;
  CheckpointKeeper& checkpoints;
  JobMonitor& watch;
};

/// Plays the records to these, which are new, and renews the view: this is a scheduler of that
/// life. All times are `now`. Errors: Malformed, if they do not lead where they say; SchedulerLost,
/// if the job had not begun.
Status replay(const std::vector<JournalRecord>& records, std::uint32_t life, const ReplayTarget& to,
              Time now);

}  // namespace stretto
