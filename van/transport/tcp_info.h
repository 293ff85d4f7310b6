// SPDX-License-Identifier: Apache-2.0
// The kernel's statistics of a TCP connection, as samples for PathLiveness. Linux only, as all of
// the van; with a kernel that reports less (a sandbox's) paths never look dead.
#pragma once

#include <cstdint>
#include <optional>

#include "van/transport/path_liveness.h"
#include "van/transport/transport.h"

namespace stretto {

/// Keep-alive settings: idle seconds before the first probe, seconds between probes, and unanswered
/// probes. The last is the maximum, so that PathLiveness decides and gives the reason.
inline constexpr int kKeepAliveIdle = 1;
inline constexpr int kKeepAliveInterval = 1;
inline constexpr int kKeepAliveTries = 127;

/// None if the descriptor is no TCP connection. Thread: any.
std::optional<PathSample> path_signs(int descriptor);
/// None if the descriptor is no TCP connection, or nothing has been acknowledged yet. Thread: any.
std::optional<Transport::RoundTrips> round_trips_of(int descriptor);
/// Bytes received over the connection in total; none if the kernel does not report them. Thread:
/// any.
std::optional<std::uint64_t> received_bytes_of(int descriptor);
/// Received bytes that the program has not read; 0 if the kernel does not report them.
std::uint64_t unread_bytes_of(int descriptor);
/// Enables the keep-alive probes above.
void keep_alive(int descriptor);
/// For a dead path: closing the connection then sends a reset, which is small, immediately.
/// Otherwise the end is queued behind the data that the path has lost.
void reset_when_closed(int descriptor);

}  // namespace stretto
