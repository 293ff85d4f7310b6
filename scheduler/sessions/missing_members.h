// SPDX-License-Identifier: Apache-2.0
// MissingMembers: log lines about members that have not joined a forming job.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/launch_protocol/exit_lines.h"
#include "common/threads/wait_notes.h"
#include "scheduler/launcher/exit_notices.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/monitoring/job_monitor.h"

namespace stretto {

/// Thread: loop.
class MissingMembers {
 public:
  /// The configuration outlives this.
  MissingMembers(const Config& config, Time now) : config_(config), notes_(now) {}

  /// The processes of these members have exited. Returns them.
  std::vector<MemberExit> note_ends(std::vector<MemberExit> ends);
  /// For workers of a forming elastic job whose processes are among these: tells the launcher that
  /// replacements are awaited. Removes those that had joined.
  void await_again(const std::vector<MemberExit>& ends, const ViewMachine& machine,
                   JobMonitor& watch, const std::function<void(const Disconnected&)>& happened);
  /// The line that is due now: how long the job has waited, and the state of each missing member.
  /// If the launcher reports exits, all other processes are running; `launcher` may be null.
  std::optional<std::string> take_line(const Admission& admission, const ExitNotices* launcher,
                                       Time now);
  /// Logs that line while the job forms. Returns the tick for the view machine.
  Tick look(const ViewMachine& machine, const ExitNotices* launcher, Time now);

 private:
  std::string state_of(const Member& member, bool runs) const;

  const Config& config_;
  WaitNotes notes_;
  std::set<std::pair<Role, Rank>> ended_;
};

}  // namespace stretto
