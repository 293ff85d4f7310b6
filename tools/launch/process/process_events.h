// SPDX-License-Identifier: Apache-2.0
// Exit and SignalOrder: how a process of a job ended, and a signal to send to one. Code that runs
// processes and code that supervises them share these types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stretto::launch {

/// How a process ended.
struct Exit {
  bool by_signal = false;
  int number = 0;           ///< Exit status, or the signal.
  bool for_memory = false;  ///< By SIGKILL of the kernel, for lack of memory.
  int stopped_by = 0;       ///< By SIGKILL, as this terminal signal had stopped it; or 0.

  bool failed() const { return by_signal || number != 0; }
  /// As a shell reports it: 128 + signal for a signal.
  int status() const { return by_signal ? 128 + number : number; }
  /// "exited with status 3", "killed by SIGKILL", "... it seems for lack of memory".
  std::string text() const;

  friend bool operator==(const Exit&, const Exit&) = default;
};

/// "SIGTERM".
std::string signal_name(int signal);

/// A signal for one member: for the process that was started, or for its whole process group.
struct SignalOrder {
  enum class Scope : std::uint8_t { kProcess, kGroup };
  std::size_t member;
  int signal;
  Scope scope;

  friend bool operator==(const SignalOrder&, const SignalOrder&) = default;
};

}  // namespace stretto::launch
