// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the TCP transport, and the words its parts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stretto/types.h"
#include "van/polling.h"
#include "van/tcp/curve_keys.h"
#include "van/transport.h"
#include "van/wire.h"

namespace stretto {

struct TcpOptions {
  /// Links are encrypted, and only towards who has the same; none: they are not.
  std::shared_ptr<const tcp::CurveIdentity> curve = nullptr;
  /// Longer parts end their connection before memory is taken for them.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Frames that one link may hold at either end before try_send answers kFull.
  int queue_frames = 256;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// Accepted connections that are not admitted. More are hung up on, oldest first.
  std::size_t max_strangers = 128;
  /// Memory that a connection may take before it is admitted, but for what it begins with, and that
  /// all such may take together.
  std::size_t stranger_bytes = wire::kMaxControlBytes;
  std::size_t strangers_bytes = std::size_t{16} << 20;
  /// Within which a connection that we make must be there, and then its far end must greet as ZMTP
  /// does: by its loop, which may be busy for a while.
  Duration connect_timeout = 5s;
  Duration greeting_timeout = 15s;
  /// Within which one that was accepted must be admitted.
  Duration handshake_timeout = 5s;
};

namespace tcp {

/// The kernel's send buffer towards this host. The default grows in steps that stall a link of
/// several GB/s; towards a network the kernel's own growth is left alone.
inline constexpr int kLocalSendBuffer = 256 << 10;

/// Token of the watch; those of links are their ids.
inline constexpr std::uint64_t kListenerToken = 0;

}  // namespace tcp
}  // namespace stretto
