// SPDX-License-Identifier: Apache-2.0
// ProcessMark: identifies the owner of a seat for all processes of a host. A PID alone is not
// enough: it is reused, and differs between containers.
#pragma once

#include <cstdint>

namespace stretto::host {

/// Thread: any (a value).
struct ProcessMark {
  std::uint64_t owner = 0;  ///< PID and start time; 0: none.
  std::uint64_t space = 0;  ///< PID namespace.

  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

/// The mark of the calling process.
ProcessMark own_mark();

enum class Life : std::uint8_t { kAlive, kGone, kUnknown };
/// Asks the system; kUnknown for a process of another namespace.
Life life_of(const ProcessMark& process);

}  // namespace stretto::host
