// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark in its own process. A benchmark that leaves system state behind needs this: its
// supervisor cleans up, however the benchmark ends.
#pragma once

#include <signal.h>

#include <functional>

#include "stretto/status.h"

namespace stretto::bench {

/// Blocks SIGINT, SIGTERM and SIGHUP during its lifetime, for run_supervised to receive. Must be
/// created before anything that needs cleaning up, and before other threads.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& held() const { return held_; }
  /// Unblocks the signals, for a new process that they must end.
  void let_go() const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

/// Returns the result of `body`, which runs in its own process; its children must not outlive that
/// process. kInterrupted after a signal: then it was killed. The caller must have a single thread.
Status run_supervised(const HeldSignals& signals, const std::function<Status()>& body);

}  // namespace stretto::bench
