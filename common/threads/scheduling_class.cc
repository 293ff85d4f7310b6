// SPDX-License-Identifier: Apache-2.0
// sched_getattr, which glibc has no name for.
#include "common/threads/scheduling_class.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stretto {
namespace {

/// As the kernel defines it, in its first version.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};

constexpr std::uint32_t kDeadlinePolicy = 6;  // SCHED_DEADLINE.

}  // namespace

SchedulingClass SchedulingClass::of(pid_t thread) {
  SchedulingAttributes told{};
  SchedulingClass found;
  if (::syscall(SYS_sched_getattr, thread, &told, sizeof told, 0) != 0) return found;
  switch (told.policy) {
    case kDeadlinePolicy:
      found.rank_ = 2;
      break;
    case SCHED_FIFO:
    case SCHED_RR:
      found.rank_ = 1;
      found.urgency_ = static_cast<std::int32_t>(told.priority);
      break;
    case SCHED_IDLE:
      found.rank_ = -1;
      break;
    default:  // SCHED_BATCH too: its share is that of its nice value.
      found.urgency_ = -told.nice;
  }
  return found;
}

}  // namespace stretto
