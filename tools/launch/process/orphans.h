// SPDX-License-Identifier: Apache-2.0
// Processes that the job's processes started and left behind. The launcher makes itself their new
// parent (a child subreaper), so that it can see them, reap them, and end them at the end, even
// those that left their process group. It can do none of this once it is killed with SIGKILL
// itself.
#pragma once

#include <sys/types.h>

#include <set>

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto::launch {

/// Thread: loop.
class Orphans {
 public:
  /// Becomes the parent of orphans. Children that this process has already are not ours to touch.
  Orphans();

  /// `process_id` is supervised by itself.
  void except(pid_t process_id) { known_.insert(process_id); }

  /// Reaps those that have ended; the number of those that still run in a group of one of `known`.
  std::size_t reap();

  /// Ends all, waiting for the kernel to do it for at most `patience`. The number that are left.
  std::size_t kill_all(const Clock& clock, Duration patience);

 private:
  std::set<pid_t> found() const;

  std::set<pid_t> known_;
};

}  // namespace stretto::launch
