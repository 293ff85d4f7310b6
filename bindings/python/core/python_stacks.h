// SPDX-License-Identifier: Apache-2.0
// The Python stacks of all threads, for a tool that inspects a stalled program.
#pragma once

#include <mutex>
#include <string>

#include "common/descriptor.h"

namespace stretto::python {

/// Reads the stacks by Python's faulthandler, which writes them in a signal handler: without the
/// GIL, whose holder may be the stalled thread. A thread sends the signal to itself alone. The
/// signal is the last real-time signal without a handler. A handler that the program installs for
/// it later stays, and texts have no stacks then.
/// Thread: the constructor and close() want the GIL; text() may be called by any thread.
class PythonStacks {
 public:
  using Handler = void (*)(int);

  /// Throws the exception of a Python signal handler. Thread: one that holds the GIL.
  PythonStacks();
  PythonStacks(const PythonStacks&) = delete;
  PythonStacks& operator=(const PythonStacks&) = delete;

  /// The stacks as faulthandler writes them, or one line with the cause if there are none. A frame
  /// that changes meanwhile may be wrong.
  std::string text();
  /// Removes the handler. Later texts have no stacks.
  void close();

 private:
  std::string read_file() const;

  std::mutex mutex_;
  Descriptor file_;
  int signal_ = 0;             // 0: none.
  Handler handler_ = nullptr;  // faulthandler's.
};

}  // namespace stretto::python
