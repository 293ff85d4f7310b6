// SPDX-License-Identifier: Apache-2.0
// The kind of descriptor that stands for a process.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/descriptor.h"

namespace stretto::launch {

/// A pidfd: readable once the process has ended. By system call, as glibc 2.36 declares pidfd_open
/// for C alone. Not open, with errno set, where the kernel gives none; Linux 5.3 has them.
inline Descriptor process_handle(pid_t process_id) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0)));
}

}  // namespace stretto::launch
