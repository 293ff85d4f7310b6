// SPDX-License-Identifier: Apache-2.0
// The interpreter ends a thread by unwinding its stack; a noexcept destructor on that stack then
// aborts the process. So a thread that returns late never acquires the GIL.
#include "bindings/python/core/gil.h"

#include <unistd.h>

#include <atomic>

namespace stretto::python {
namespace {

std::atomic<pid_t> only_thread{0};  // 0: all threads may return.

}  // namespace

void keep_other_threads_out() { only_thread = ::gettid(); }

void stay_if_kept_out() {
  pid_t only = only_thread;
  while (only != 0 && only != ::gettid()) {
    only_thread.wait(only);
    only = only_thread;
  }
}

}  // namespace stretto::python
