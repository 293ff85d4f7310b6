// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the TCP transport, and the words its parts share.
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
  /// Longer parts end their connection before memory is taken for them.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Frames that one link may hold at either end before try_send answers kFull.
  int queue_frames = 256;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// Accepted connections that are not admitted. More are hung up on, oldest first.
  std::size_t max_pending = 128;
  /// Memory that a connection may take before it is admitted, but for what it begins with, and that
  /// all such may take together.
  std::size_t pending_bytes = wire::kMaxControlBytes;
  std::size_t all_pending_bytes = std::size_t{16} << 20;
  /// Within which a connection that we make must be there, and then its far end must
  /// greet: by its loop, which may be busy for a while.
  Duration connect_timeout = 5s;
  Duration greeting_timeout = 15s;
  /// Within which one that was accepted must be admitted.
  Duration handshake_timeout = 5s;
};

namespace tcp {

/// Of a socket towards this host. The kernel's default grows in steps that stall a link of several
/// GB/s; towards a network the kernel's own growth is left alone.
inline void enlarge_send_buffer(int socket) {
  constexpr int kBytes = 256 << 10;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kBytes, sizeof kBytes);  // It works without, too.
}

/// Token of the watch; those of links are their ids.
inline constexpr std::uint64_t kListenerToken = 0;

}  // namespace tcp
}  // namespace stretto
