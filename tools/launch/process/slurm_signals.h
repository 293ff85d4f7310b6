// SPDX-License-Identifier: Apache-2.0
// SlurmSignalFilter: avoids duplicate signals in a Slurm step. scancel, preemption and a time limit
// signal every process of each step, including the agent's children. The agent's launcher learns of
// that signal and orders all agents to forward it, so a process would get it twice. The launcher's
// order is therefore delayed, and dropped if Slurm's own signal arrives or has just arrived.
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
  /// Slurm has sent `signal` to all processes of the step.
  void came(int signal, Time now);
  /// True if the launcher's order may go now; otherwise it is delayed or dropped. SIGKILL always
  /// may: it is sent where Slurm's notices do not help.
  bool may_go(const SignalOrder& order, Time now);
  /// When the first delayed order is due.
  std::optional<Time> due() const;
  /// Removes and returns the orders due by `now`.
  std::vector<SignalOrder> take_due(Time now);

 private:
  struct Kept {
    SignalOrder order;
    Time due;
  };
  std::map<int, Time> came_;  // By signal.
  std::vector<Kept> kept_;    // Ordered by due time.
};

}  // namespace stretto::launch
