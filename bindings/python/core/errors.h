// SPDX-License-Identifier: Apache-2.0
// Converts a Status to a Python exception, and refuses calls in a forked child.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <string_view>

#include "bindings/python/core/gil.h"
#include "stretto/status.h"

namespace stretto::python {

/// Readable form of text that may not be UTF-8, such as a file name: other bytes are written as
/// \xNN. Thread: one that holds the GIL.
pybind11::str text_of(std::string_view bytes);

/// Throws the exception of stretto.errors for the status, unless the status is ok.
/// Thread: one that holds the GIL.
void raise_unless_ok(const Status& status);

/// Returns the result of a long call; other Python threads run meanwhile.
template <typename Call>
auto without_gil(const Call& call) {
  const WithoutGil released;
  return call();
}

/// Returns the value, or throws the exception of the error.
template <typename T>
T value_of(Result<T> result) {
  raise_unless_ok(result.status());
  return *std::move(result);
}

/// The process that a worker belongs to. The threads and sockets of a worker belong to the process
/// that joined. A child that was forked later may neither use nor destroy the worker.
class Owner {
 public:
  Owner() : process_(getpid()) {}
  bool is_another() const { return getpid() != process_; }
  /// Throws UsedAfterFork in a forked child.
  void refuse_others() const;

 private:
  pid_t process_;
};

}  // namespace stretto::python
