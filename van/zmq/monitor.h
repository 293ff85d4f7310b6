// SPDX-License-Identifier: Apache-2.0
// Monitor: what libzmq tells of the TCP connections under a socket. The only way to learn that a
// connection has ended, since libzmq hides that from sockets themselves.
#pragma once

#include <optional>

#include "van/zmq/handles.h"

namespace stretto::zmq {

/// Thread: loop.
class Monitor {
 public:
  struct Event {
    int kind = 0;        ///< ZMQ_EVENT_*.
    int descriptor = 0;  ///< Of the connection, for ACCEPTED, DISCONNECTED and CLOSED.
  };

  /// Watches `socket` for the events in the set `kinds`. Comes before bind or connect, so that
  /// nothing is missed; `name` is unique in the context.
  static Result<Monitor> attach(const Context& context, const Socket& socket, int kinds,
                                const std::string& name);

  /// Ends the watch on `socket`, which must be done before the monitor ends: libzmq's thread waits
  /// for room where nobody listens any more, for ever and for all sockets of the context. All
  /// events so far have fitted in libzmq's queue, or this waits for room too.
  void stop_watching(const Socket& socket);

  /// The next event, in the order in which libzmq saw them; none when all are read.
  std::optional<Event> next();
  int descriptor() const { return socket_.descriptor(); }

 private:
  explicit Monitor(Socket socket) : socket_(std::move(socket)) {}

  Socket socket_;
  LibzmqMessage part_;
};

}  // namespace stretto::zmq
