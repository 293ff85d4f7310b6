// SPDX-License-Identifier: Apache-2.0
// Waits for the worker from Python: without the GIL, and interruptible by signals.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/python/core/errors.h"
#include "bindings/python/core/gil.h"
#include "common/threads/interruptible.h"

namespace stretto::python {

/// Returns the result of a call that waits for the worker. This thread may drive the worker's loop;
/// an exception of a signal handler ends the wait. Thread: one that holds the GIL.
template <typename Call>
auto heard(Call call) {
  auto outcome = without_gil([&] {
    const Interruptible hears([] {
      stay_if_kept_out();
      const pybind11::gil_scoped_acquire gil;
      return PyErr_CheckSignals() == 0;
    });
    return call();
  });
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return outcome;
}

}  // namespace stretto::python
