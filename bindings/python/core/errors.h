// SPDX-License-Identifier: Apache-2.0
// From a Status to a Python exception, and what a forked child may not do.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <string_view>

#include "bindings/python/core/gil.h"
#include "stretto/status.h"

namespace stretto::python {

/// Text that need not be UTF-8, such as what a file is called, to be read by people: bytes that are
/// not are written as \xNN. Thread: one that holds the GIL.
pybind11::str text_of(std::string_view bytes);

/// Throws the exception of stretto.errors that says what the status says, unless it is ok.
/// Thread: one that holds the GIL.
void raise_unless_ok(const Status& status);

/// What a call that may take a while returns; other Python threads run meanwhile.
template <typename Call>
auto without_gil(const Call& call) {
  const WithoutGil released;
  return call();
}

/// The value, or the exception.
template <typename T>
T value_of(Result<T> result) {
  raise_unless_ok(result.status());
  return *std::move(result);
}

/// The process that a worker belongs to. The threads and sockets of a worker are those of the
/// process that joined: in a child that was forked since, nothing of it may be used or destroyed.
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
