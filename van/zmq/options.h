// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the ZeroMQ transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stretto/types.h"
#include "van/wire/header.h"
#include "van/zmq/curve_keys.h"

namespace stretto {

/// How the two ends of a connection show each other that they belong to one job.
enum class ZmqMechanism : std::uint8_t {
  kNull,   ///< They do not.
  kPlain,  ///< By a key that travels in the clear: an eavesdropper can learn it.
  kCurve   ///< By key pairs, and all that follows is encrypted.
};

struct ZmqOptions {
  ZmqMechanism mechanism = ZmqMechanism::kNull;
  /// Wanted for kPlain and kCurve.
  std::shared_ptr<const zmq::JobKeys> keys = nullptr;
  /// libzmq ends the connection of a longer part before it takes memory for the part.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Messages that libzmq may hold for one link at either end before try_send answers kFull.
  int queue_frames = 256;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// Accepted connections that are not admitted. More are disconnected, the oldest first, once they
  /// are a second old.
  std::size_t max_strangers = 128;
  /// At so many the listener accepts no more until half of them are admitted or gone.
  std::size_t max_handshakes = 512;
  /// Bytes that a connection may have sent before it is admitted, and that all such connections may
  /// have sent together. libzmq keeps the whole receive buffer of 8 KiB for a part of 33 bytes or
  /// more, which is up to 500 times as much memory.
  std::size_t stranger_bytes = std::size_t{16} << 10;
  std::size_t strangers_bytes = std::size_t{256} << 10;
  Duration connect_timeout = 5s;
  /// libzmq's limit for a handshake (ZMQ_HANDSHAKE_IVL), and, in time in which the transport was
  /// polled, for the admission of an accepted connection.
  Duration handshake_timeout = 5s;
};

}  // namespace stretto
