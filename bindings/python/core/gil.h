// SPDX-License-Identifier: Apache-2.0
// WithoutGil: native code without Python's lock, from which a thread may come back too late: the
// interpreter ends a thread that asks for the lock while it ends itself.
#pragma once

#include <Python.h>

namespace stretto::python {

/// From now on a thread other than the caller stays in native code when it would come back from it.
/// For the end of the program, when only daemon threads are left. Thread: one that holds the GIL.
void keep_other_threads_out();

/// Returns, unless this thread has to stay. Thread: one that does not hold the GIL.
void stay_if_kept_out();

/// The GIL is let go of as long as one lives. Thread: one that holds the GIL.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  /// It may unwind the thread's stack, by which the interpreter ends a thread.
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
