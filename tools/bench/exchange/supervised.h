// SPDX-License-Identifier: Apache-2.0
// A benchmark in a process of its own, for those that leave something behind in the system unless
// somebody cleans up: whatever happens to the benchmark, its supervisor goes on and does.
#pragma once

#include <signal.h>

#include <functional>

#include "stretto/status.h"

namespace stretto::bench {

/// SIGINT, SIGTERM and SIGHUP wait while one of these exists, for run_supervised to see them. Made
/// before there is anything to clean up, and before other threads.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& held() const { return held_; }
  /// For a new process, which is to end by them.
  void let_go() const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

/// What `body` says in a process of its own, of which the children must not outlive it. Interrupted
/// if a signal came first: then it has been killed. Only where there is a single thread.
Status run_supervised(const HeldSignals& signals, const std::function<Status()>& body);

}  // namespace stretto::bench
