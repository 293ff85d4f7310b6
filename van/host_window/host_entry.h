// SPDX-License-Identifier: Apache-2.0
// HostEntry: what one endpoint tells the others of its host about what it sends to other hosts.
#pragma once

#include <array>
#include <cstdint>

#include "van/host_window/window_plan.h"

namespace stretto::host {

/// Words of an entry in shared memory. What is not used yet is zero.
inline constexpr std::size_t kEntryWords = 13;
using EntryWords = std::array<std::uint64_t, kEntryWords>;

/// An entry that was told longer ago counts for nothing.
inline constexpr Duration kAliveFor = std::chrono::milliseconds(50);

/// Thread: any (a value).
struct HostEntry {
  Time alive_at = {};                ///< When it was told.
  std::uint64_t job = 0;             ///< 0: in no job that others could be in.
  bool waiting = false;              ///< Data waits to leave this host,
  std::int32_t priority = 0;         ///< of this priority at most.
  bool urgent = false;               ///< Of late it had something urgent,
  std::int32_t urgent_priority = 0;  ///< of this priority at most.
  std::uint64_t here_bytes = 0;      ///< In flight, and not known to have left this host.
  PathEstimate paths = {};           ///< Of those with bytes in flight.
  std::uint64_t taken_bytes = 0;     ///< What its far ends have taken in all.
  /// Bytes a second that its far ends have taken of late, while data waited all the time; 0: data
  /// did not.
  double recent_rate = 0;
  std::size_t seat = 0;  ///< Where it was read; it is not told.

  bool is_alive(Time now) const { return alive_at > now - kAliveFor && alive_at < now + kAliveFor; }

  EntryWords words() const;
  /// Any words make an entry: what is absurd is cut to what could be.
  static HostEntry of(const EntryWords& words);
};

}  // namespace stretto::host
