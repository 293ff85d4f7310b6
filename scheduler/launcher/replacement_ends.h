// SPDX-License-Identifier: Apache-2.0
// ReplacementEnds: replacements of failed servers whose processes exited before they joined. No
// link of such a process breaks, so only its launcher can report its exit.
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
  /// The failed servers whose replacements are among these exited processes. A launcher reports
  /// each exit once, before it starts the next process of that number. So the first exit after a
  /// server of a number joined is that server's own, and each later exit is that of a replacement.
  std::vector<NodeId> lost_by(const std::vector<MemberExit>& ends, const View& view);
  /// Reports these servers as failed again, so that the launcher starts another process.
  void end(const std::vector<MemberExit>& ends, const ViewMachine& machine, JobMonitor& watch,
           const std::function<void(const Lost&)>& happened);

 private:
  std::map<Rank, NodeId> ended_;  // By number: the latest member whose own process has exited.
};

}  // namespace stretto
