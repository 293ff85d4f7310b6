// SPDX-License-Identifier: Apache-2.0
// Monitor: libzmq's events of the TCP connections under a socket. Only a monitor reports that a
// connection has ended; the socket itself does not.
#pragma once

#include <optional>
#include <string>

#include "van/zmq/handles.h"

namespace stretto::zmq {

/// Thread: loop.
class Monitor {
 public:
  struct Event {
    int kind = 0;   ///< ZMQ_EVENT_*.
    int value = 0;  ///< The connection's descriptor, of ACCEPTED, CONNECTED, DISCONNECTED and
                    ///< CLOSED; of a handshake that failed, why.
  };

  /// Watches `socket` for the events in the set `kinds`. Must precede bind or connect, so that no
  /// event is missed; `name` is unique in the context. libzmq's thread never waits for room for an
  /// event: their number is not limited.
  static Result<Monitor> attach(const ZmqContext& context, const ZmqSocket& socket, int kinds,
                                const std::string& name);

  /// Ends the watch on `socket`.
  void stop_watching(const ZmqSocket& socket);

  /// The next event, in libzmq's order; none when all are read.
  std::optional<Event> next();
  int descriptor() const { return socket_.descriptor(); }

 private:
  explicit Monitor(ZmqSocket socket) : socket_(std::move(socket)) {}

  ZmqSocket socket_;
  MessagePart part_;
  ForkGuard home_;
};

}  // namespace stretto::zmq
