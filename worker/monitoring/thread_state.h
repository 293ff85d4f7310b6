// SPDX-License-Identifier: Apache-2.0
// The state of a thread of this process in the kernel, from /proc: whether it runs, and otherwise
// what it waits for. It needs no signal, and the thread does not notice.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "van/control/control.h"

namespace stretto {

struct ThreadState {
  control::Activity::Rest rest = control::Activity::Rest::kUnknown;
  std::string on = {};  ///< "read of pipe:[7]"; empty if there is nothing to say.
};

/// From the contents of the thread's files `stat`, `syscall` and `wchan`; `name_of_file` returns
/// the name of a descriptor's file.
ThreadState thread_rest_from(std::string_view stat, std::string_view syscall,
                             std::string_view wchan,
                             const std::function<std::string(int)>& name_of_file);

/// Of a thread of this process. Unknown if the system does not tell.
ThreadState rest_of_thread(pid_t thread);

}  // namespace stretto
