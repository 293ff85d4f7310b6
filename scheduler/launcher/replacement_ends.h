// SPDX-License-Identifier: Apache-2.0
// ReplacementEnds: replacements of lost servers whose processes ended before they joined. No link
// of such a process breaks, so only its launcher can report its end.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "common/launch_protocol/exit_lines.h"
#include "core/view.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/monitoring/job_monitor.h"

namespace stretto {

/// Thread: loop.
class ReplacementEnds {
 public:
  /// The lost servers whose replacements are among these ended processes. A launcher reports the
  /// end of each process once, and before it starts the next process of that number. So the first
  /// end after a server of a number joined is that server's own, and each later end is that of a
  /// replacement.
  std::vector<NodeId> lost_by(const std::vector<MemberExit>& ends, const View& view);
  /// Each of these is lost once more, and the launcher hears that another process is awaited.
  void end(const std::vector<MemberExit>& ends, const ViewMachine& machine, JobMonitor& watch,
           const std::function<void(const Lost&)>& happened);

 private:
  std::map<Rank, NodeId> ended_;  // By number: the latest member whose own process has ended.
};

}  // namespace stretto
