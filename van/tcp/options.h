// SPDX-License-Identifier: Apache-2.0
// The options of the TCP transport, and constants that its parts share.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "stretto/types.h"
#include "van/transport/poll_turns.h"
#include "van/transport/transport.h"
#include "van/wire/header.h"

namespace stretto {

struct TcpOptions {
  /// A longer part ends its connection before memory is allocated.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Frames that one link may hold at either end before try_send returns kFull.
  int queue_frames = 256;
  /// Accepted and connected links. More are refused.
  std::size_t max_links = 1024;
  /// Pending connections: accepted, not admitted. More are closed, oldest first.
  std::size_t max_pending = 128;
  /// Memory that a pending connection may take in addition to its initial state, and that all of
  /// them may take together.
  std::size_t pending_bytes = wire::kMaxControlBytes;
  std::size_t all_pending_bytes = std::size_t{16} << 20;
  /// The limits for an outgoing connection to be established, and then for the peer's greeting,
  /// which its possibly busy loop sends.
  Duration connect_timeout = 5s;
  Duration greeting_timeout = 15s;
  /// The limit for an accepted connection to be admitted.
  Duration handshake_timeout = 5s;
};

namespace tcp {

/// For sockets to this host. The kernel's default grows in steps that stall a link of several GB/s;
/// for networks the kernel's own growth is kept.
inline void enlarge_send_buffer(int socket) {
  constexpr int kBytes = 256 << 10;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kBytes, sizeof kBytes);  // Optional.
}

/// The listener's token in the watch; a link's token is its id.
inline constexpr std::uint64_t kListenerToken = 0;

}  // namespace tcp
}  // namespace stretto
