// SPDX-License-Identifier: Apache-2.0
// Counts the forks among this process's ancestors.
#include "common/process/fork_guard.h"

#include <fmt/core.h>
#include <pthread.h>

#include <atomic>

namespace stretto {
namespace {

std::atomic<std::uint32_t>& count() {
  static std::atomic<std::uint32_t> forked{0};
  return forked;
}

void note_fork() { count().fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t ForkGuard::forks() {
  // Without memory for the handler, children do not detect the fork; this is its only effect.
  [[maybe_unused]] static const int kRegistered = ::pthread_atfork(nullptr, nullptr, note_fork);
  return count().load(std::memory_order_relaxed);
}

Status used_after_fork(std::string_view owner, std::string_view operation) {
  return Status(Code::kInvalidArgument,
                fmt::format("this process was forked from the one that made the {0}: threads and "
                            "sockets of it are the parent's; call it there, or make a {0} of this "
                            "process",
                            owner))
      .with_operation(operation);
}

}  // namespace stretto
