// SPDX-License-Identifier: Apache-2.0
// WithoutGil runs native code without the GIL. A thread may return from such code too late: the
// interpreter ends a thread that acquires the GIL while the interpreter shuts down.
#pragma once

#include <Python.h>

namespace stretto::python {

/// Keeps each thread but the caller in native code once it would return from there. For the end of
/// the program, when only daemon threads are left. Thread: one that holds the GIL.
void keep_other_threads_out();

/// Returns, unless this thread must stay in native code. Thread: one that does not hold the GIL.
void stay_if_kept_out();

/// Releases the GIL for its lifetime. Thread: one that holds the GIL.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  /// May throw: the interpreter ends a thread by unwinding its stack.
  ~WithoutGil() noexcept(false) {
    stay_if_kept_out();
    PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace stretto::python
