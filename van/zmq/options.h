// SPDX-License-Identifier: Apache-2.0
// The options of the ZeroMQ transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stretto/types.h"
#include "van/wire/header.h"
#include "van/zmq/curve_keys.h"

namespace stretto {

/// How the two ends of a connection prove to each other that they belong to the same job.
enum class ZmqMechanism : std::uint8_t {
  kNull,   ///< They do not.
  kPlain,  ///< By a key sent in the clear: an eavesdropper can learn it.
  kCurve   ///< By key pairs; all later traffic is encrypted.
};

struct ZmqOptions {
  ZmqMechanism mechanism = ZmqMechanism::kNull;
  /// Required for kPlain and kCurve.
  std::shared_ptr<const zmq::JobKeys> keys = nullptr;
  /// libzmq closes a connection that announces a longer part, before it allocates memory.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Messages that libzmq may hold for one link at either end before try_send returns kFull.
  int queue_frames = 256;
  /// Accepted and connected links. More are refused.
  std::size_t max_links = 1024;
  /// Pending connections: accepted, not admitted. More are disconnected, the oldest first, once
  /// they are a second old.
  std::size_t max_strangers = 128;
  /// At this number the listener stops accepting until half of them are admitted or gone.
  std::size_t max_handshakes = 512;
  /// Bytes that a pending connection may send, and that all of them may send together. For a part
  /// of 33 bytes or more libzmq keeps the whole 8 KiB receive buffer, up to 500 times the memory.
  std::size_t stranger_bytes = std::size_t{16} << 10;
  std::size_t strangers_bytes = std::size_t{256} << 10;
  Duration connect_timeout = 5s;
  /// libzmq's limit for a handshake (ZMQ_HANDSHAKE_IVL). Also the limit for admission of an
  /// accepted connection, in time during which the transport was polled.
  Duration handshake_timeout = 5s;
};

}  // namespace stretto
