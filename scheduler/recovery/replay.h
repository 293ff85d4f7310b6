// SPDX-License-Identifier: Apache-2.0
// Replays the journal of the previous scheduler: the same decisions in the same order lead to the
// same views, node ids, names and slots.
#pragma once

#include <vector>

#include "scheduler/checkpoint/checkpoint_keeper.h"
#include "scheduler/coordination/coordination.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/monitoring/job_monitor.h"

namespace stretto {

/// The components that replay() fills. All outlive the call.
struct ReplayTarget {
  ViewMachine& machine;
  MembershipJournal& chronicle;
  Coordination& agreements;
  CheckpointKeeper& checkpoints;
  JobMonitor& watch;
};

/// Replays the records into new components, and renews the view for this incarnation of the
/// scheduler. All times are `now`. Errors: Malformed, if the views differ from the recorded ones;
/// SchedulerLost, if the job had not started.
Status replay(const std::vector<JournalRecord>& records, std::uint32_t life, const ReplayTarget& to,
              Time now);

}  // namespace stretto
