// SPDX-License-Identifier: Apache-2.0
// ForkGuard: which process an object was made in. A child that is made by fork has a copy of the
// object, but none of the threads that it needs, and sockets and shared memory that are the
// parent's.
#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// The process that made it. Thread: any; no call of the system.
class ForkGuard {
 public:
  ForkGuard() : forks_(forks()) {}
  /// False in a child that was forked since (by vfork: true, as it has the parent's memory).
  bool is_here() const { return forks_ == forks(); }

 private:
  // How many forks lie between the program's start and this process.
  static std::uint32_t forks();

  std::uint32_t forks_;
};

/// What a call gets there: kInvalidArgument. `owner` is what the child has to make for itself, such
/// as "a Worker"; nothing was changed.
Status used_after_fork(std::string_view owner, std::string_view operation);

}  // namespace stretto
