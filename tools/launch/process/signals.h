// SPDX-License-Identifier: Apache-2.0
// The launcher's signals as a descriptor, so that they are read in turn with everything else.
#pragma once

#include <sys/types.h>

#include <optional>

#include "common/descriptor.h"
#include "tools/launch/process/spawn.h"

namespace stretto::launch {

/// Thread: loop. Holds back SIGINT, SIGTERM, SIGHUP and SIGCHLD and ignores SIGPIPE, for the rest
/// of the process's life. Of the first three, those that the caller ignores (as nohup does) stay
/// ignored.
class Signals {
 public:
  Signals();

  /// Negative if the system gave none.
  int descriptor() const { return descriptor_.get(); }
  /// What processes get back.
  const SignalState& before() const { return before_; }
  /// The next one that has come, if any. Does not wait.
  std::optional<int> next();
  /// next() has given one of the first three.
  bool asked_to_end() const { return asked_to_end_; }
  /// The process that sent the last one that next() gave.
  pid_t sender() const { return sender_; }

 private:
  SignalState before_;
  Descriptor descriptor_;
  pid_t sender_ = 0;
  bool asked_to_end_ = false;
};

}  // namespace stretto::launch
