// SPDX-License-Identifier: Apache-2.0
// ProcessMark: which process has a seat, in words that mean the same to all processes of a host:
// numbers of processes are used again, and mean something else in another container.
#pragma once

#include <cstdint>

namespace stretto::host {

/// Thread: any (a value).
struct ProcessMark {
  std::uint64_t owner = 0;  ///< Its number and when it was started; 0: none.
  std::uint64_t space = 0;  ///< The namespace that numbers it.

  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

/// Of the calling process.
ProcessMark own_mark();

enum class Life : std::uint8_t { kAlive, kGone, kUnknown };
/// Asks the system; unknown if the process is one of another namespace.
Life life_of(const ProcessMark& process);

}  // namespace stretto::host
