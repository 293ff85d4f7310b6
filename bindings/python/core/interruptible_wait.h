// SPDX-License-Identifier: Apache-2.0
// Waiting for the worker from Python: without the GIL, and with an ear for signals.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/python/core/errors.h"
#include "bindings/python/core/gil.h"
#include "common/threads/interruptible.h"

namespace stretto::python {

/// What a call that waits for the worker returns. This thread, which may drive the worker's loop,
/// hears signals in between; what a handler raises ends the wait. Thread: one that holds the GIL.
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
