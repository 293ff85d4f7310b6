// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the shared memory transport.
#pragma once

#include <cstddef>

#include "stretto/types.h"
#include "van/transport/transport.h"
#include "van/wire/header.h"

namespace stretto {

struct ShmOptions {
  /// A frame that says it has more ends its link.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Copied bytes that one link may have in flight before try_send answers kFull.
  std::size_t max_copied_bytes = 8 << 20;
  /// By how much the arena grows at least.
  std::size_t chunk_bytes = 16 << 20;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// Connections that have not said hello. More are hung up on, oldest first.
  std::size_t max_silent = 128;
  Duration handshake_timeout = 5s;
};

}  // namespace stretto
