// SPDX-License-Identifier: Apache-2.0
// The launcher's signals as a descriptor, so that its loop reads them with all other events.
#pragma once

#include <sys/types.h>

#include <optional>

#include "common/descriptor.h"
#include "tools/launch/process/spawn.h"

namespace stretto::launch {

/// Thread: loop. Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD and ignores SIGPIPE, for the rest of
/// the process's life. If the caller ignores one of the first three (as nohup does), it stays
/// ignored.
class Signals {
 public:
  Signals();

  /// Negative if the system provided none.
  int descriptor() const { return descriptor_.get(); }
  /// The signal state that child processes restore.
  const SignalState& before() const { return before_; }
  /// The next pending signal, if any. Does not block.
  std::optional<int> next();
  /// True once next() has returned one of the first three.
  bool asked_to_end() const { return asked_to_end_; }
  /// The sender of the last signal that next() returned.
  pid_t sender() const { return sender_; }

 private:
  SignalState before_;
  Descriptor descriptor_;
  pid_t sender_ = 0;
  bool asked_to_end_ = false;
};

}  // namespace stretto::launch
