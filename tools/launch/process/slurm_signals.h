// SPDX-License-Identifier: Apache-2.0
// SlurmSignalFilter: who signals the processes of a Slurm step. scancel, preemption and a time
// limit send a notice to every process of each step, the agent's children among them, and the
// agent's launcher hears of it and tells all agents to pass it on: a process would get it twice. So
// what the launcher orders waits for a moment, and is dropped if Slurm's own comes or has just
// come.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// Thread: loop. Pure.
class SlurmSignalFilter {
 public:
  /// Slurm has sent this to all processes of the step.
  void came(int signal, Time now);
  /// True if the launcher's order may go now; if not it is kept, or nobody needs it. SIGKILL always
  /// may: it goes where Slurm's notices do not help.
  bool may_go(const SignalOrder& order, Time now);
  /// When the first order that is kept should go after all.
  std::optional<Time> due() const;
  /// Those that are due by now, which are kept no longer.
  std::vector<SignalOrder> take_due(Time now);

 private:
  struct Kept {
    SignalOrder order;
    Time due;
  };
  std::map<int, Time> came_;  // By signal.
  std::vector<Kept> kept_;    // The first is due first.
};

}  // namespace stretto::launch
