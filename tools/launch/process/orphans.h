// SPDX-License-Identifier: Apache-2.0
// Processes that the job's processes started and left behind. The launcher becomes their new parent
// (a child subreaper). So it can see them, reap them, and kill them at the end, even if they left
// their process group. A launcher that SIGKILL ends can do none of this.
#pragma once

#include <sys/types.h>

#include <set>

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto::launch {

/// Thread: loop.
class Orphans {
 public:
  /// Becomes the parent of orphans. Children that exist already are left alone.
  Orphans();

  /// Excludes `process_id`, which the caller supervises.
  void except(pid_t process_id) { known_.insert(process_id); }

  /// Reaps orphans that have ended; returns the number that still run in groups of `known`.
  std::size_t reap();

  /// Kills all orphans, and waits at most `patience` for the kernel. Returns the number left.
  std::size_t kill_all(const Clock& clock, Duration patience);

 private:
  std::set<pid_t> found() const;

  std::set<pid_t> known_;
};

}  // namespace stretto::launch
