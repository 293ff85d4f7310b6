// SPDX-License-Identifier: Apache-2.0
// HostEntry: an endpoint's report to its host about what it sends to other hosts.
#pragma once

#include <array>
#include <cstdint>

#include "van/host_window/window_plan.h"

namespace stretto::host {

/// Words of an entry in shared memory. Unused words are zero.
inline constexpr std::size_t kEntryWords = 13;
using EntryWords = std::array<std::uint64_t, kEntryWords>;

/// Older entries are ignored.
inline constexpr Duration kAliveFor = std::chrono::milliseconds(50);

/// Thread: any (a value).
struct HostEntry {
  Time alive_at = {};                ///< When the entry was written.
  std::uint64_t job = 0;             ///< 0: no shared job.
  bool waiting = false;              ///< Data waits to leave this host,
  std::int32_t priority = 0;         ///< highest priority of that data.
  bool urgent = false;               ///< The endpoint recently had urgent data,
  std::int32_t urgent_priority = 0;  ///< highest priority of that data.
  std::uint64_t here_bytes = 0;      ///< In flight, and not known to have left this host.
  PathEstimate paths = {};           ///< Of the paths with bytes in flight.
  std::uint64_t taken_bytes = 0;     ///< Total that its peers have taken.
  /// Bytes a second that its peers recently took while data always waited; 0: data did not always
  /// wait.
  double recent_rate = 0;
  std::size_t seat = 0;  ///< Where it was read; not in shared memory.

  bool is_alive(Time now) const { return alive_at > now - kAliveFor && alive_at < now + kAliveFor; }

  EntryWords words() const;
  /// Any words make an entry: implausible values are clamped.
  static HostEntry of(const EntryWords& words);
};

}  // namespace stretto::host
