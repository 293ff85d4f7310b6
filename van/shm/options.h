// SPDX-License-Identifier: Apache-2.0
// The options of the shared memory transport.
#pragma once

#include <cstddef>

#include "stretto/types.h"
#include "van/transport/transport.h"
#include "van/wire/header.h"

namespace stretto {

struct ShmOptions {
  /// A frame that announces more ends its link.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Copied bytes that one link may have in flight before try_send returns kFull.
  std::size_t max_copied_bytes = 8 << 20;
  /// The minimum growth of the arena.
  std::size_t chunk_bytes = 16 << 20;
  /// Accepted and connected links. More are refused.
  std::size_t max_links = 1024;
  /// Pending connections without a hello. More are closed, oldest first.
  std::size_t max_silent = 128;
  Duration handshake_timeout = 5s;
};

}  // namespace stretto
