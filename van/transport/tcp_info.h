// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of a TCP connection, as signs for PathLiveness. Linux only, as all of the
// van; a kernel that tells less (a sandbox's) makes paths that never look dead.
#pragma once

#include <cstdint>
#include <optional>

#include "van/transport/path_liveness.h"
#include "van/transport/transport.h"

namespace stretto {

/// Idle seconds after which a connection asks the far end's kernel whether it is there, seconds
/// between two such questions, and how many may stay without an answer: the most there is, so that
/// it is PathLiveness that decides, and says why.
inline constexpr int kKeepAliveIdle = 1;
inline constexpr int kKeepAliveInterval = 1;
inline constexpr int kKeepAliveTries = 127;

/// None if the descriptor is no TCP connection. Thread: any.
std::optional<PathSample> path_signs(int descriptor);
/// None if the descriptor is no TCP connection, or nothing was acknowledged yet. Thread: any.
std::optional<Transport::RoundTrips> round_trips_of(int descriptor);
/// Bytes that the connection has brought since its beginning; none if the kernel does not tell.
/// Thread: any.
std::optional<std::uint64_t> received_bytes_of(int descriptor);
/// Bytes of these that its program has not read; 0 if the kernel does not tell.
std::uint64_t unread_bytes_of(int descriptor);
/// Lets a connection of ours ask as above.
void keep_alive(int descriptor);
/// For a path that is dead: closing the connection tells the far end at once, by a reset, which is
/// small. What tells it else is queued behind what the path has lost.
void reset_when_closed(int descriptor);

}  // namespace stretto
