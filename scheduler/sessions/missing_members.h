// SPDX-License-Identifier: Apache-2.0
// MissingMembers: what the log says of members that have not joined while a job comes together.
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

  /// The processes of these members have ended. Returns them.
  std::vector<MemberExit> note_ends(std::vector<MemberExit> ends);
  /// Workers of an elastic job that has not come together, and whose processes are among these: the
  /// launcher hears that other processes are awaited for them. Those that had joined go.
  void await_again(const std::vector<MemberExit>& ends, const ViewMachine& machine,
                   JobMonitor& watch, const std::function<void(const Disconnected&)>& happened);
  /// The line that is due now: how long the job waits, and what each missing member does. A
  /// launcher that tells of ends lets it know that all others run; `launcher` may be null.
  std::optional<std::string> take_line(const Admission& admission, const ExitNotices* launcher,
                                       Time now);
  /// Logs that line while the job comes together. Returns that time passes.
  Tick look(const ViewMachine& machine, const ExitNotices* launcher, Time now);

 private:
  std::string state_of(const Member& member, bool runs) const;

  const Config& config_;
  WaitNotes notes_;
  std::set<std::pair<Role, Rank>> ended_;
};

}  // namespace stretto
