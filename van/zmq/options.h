// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the ZeroMQ transport, and the words its parts share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "stretto/types.h"
#include "van/wire.h"

namespace stretto {

struct ZmqOptions {
  /// Longer parts end their connection before memory is taken for them.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// libzmq's own threads. Accepted connections share the first: one moves about 3 GB/s.
  int io_threads = 1;
  /// Frames that one link may hold at either end before try_send answers kFull.
  int queue_frames = 256;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// Connections that have not sent their first frame yet. More are hung up on, oldest first.
  std::size_t max_silent = 128;
  /// Within which a connection must be made, and then greet as ZMTP does.
  Duration connect_timeout = 5s;
  Duration handshake_timeout = 5s;
};

namespace zmq {

/// The kernel's send buffer towards this host. The default grows in steps that stall a link of
/// several GB/s; towards a network the kernel's own growth is left alone.
inline constexpr int kLocalSendBuffer = 256 << 10;

/// Whole milliseconds, rounded up, as libzmq takes them.
inline int milliseconds(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<int>::max()));
}

/// What a part of the transport did in its turn.
struct Turn {
  int frames = 0;       ///< Messages read, good or bad.
  bool called = false;  ///< The sink was called.
  bool more = false;    ///< There may be more: give it another turn without waiting.
};

}  // namespace zmq
}  // namespace stretto
