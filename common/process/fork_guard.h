// SPDX-License-Identifier: Apache-2.0
// ForkGuard: detects that an object was copied into a forked child. The child lacks the threads
// that the object needs, and its sockets and shared memory belong to the parent.
#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// Remembers the process that created it. Thread: any; makes no system call.
class ForkGuard {
 public:
  ForkGuard() : forks_(forks()) {}
  /// False in a child that was forked since (by vfork: true, as it has the parent's memory).
  bool is_here() const { return forks_ == forks(); }

 private:
  // Number of forks between the program's start and this process.
  static std::uint32_t forks();

  std::uint32_t forks_;
};

/// The error of a call in a forked child: kInvalidArgument; the call changed nothing. `owner`: the
/// object that the child must create for itself, such as "a Worker".
Status used_after_fork(std::string_view owner, std::string_view operation);

}  // namespace stretto
