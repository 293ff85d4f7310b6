// SPDX-License-Identifier: Apache-2.0
// Opens a descriptor that refers to a process.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/descriptor.h"

namespace stretto::launch {

/// A pidfd: readable once the process has ended. Uses the system call, since glibc 2.36 declares
/// pidfd_open for C only. On failure it is not open, and errno is set; Linux 5.3 has pidfds.
inline Descriptor process_handle(pid_t process_id) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0)));
}

}  // namespace stretto::launch
