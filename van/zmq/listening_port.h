// SPDX-License-Identifier: Apache-2.0
// ListeningPort: the TCP socket that peers connect to. We own it, and libzmq accepts on a copy
// (ZMQ_USE_FD): libzmq can stop accepting only by ending all accepted connections (zmq_unbind). So
// a kernel filter drops connection attempts during a pause. Clients retry after a second, and none
// is refused.
#pragma once

#include <string>
#include <string_view>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "van/zmq/handles.h"

namespace stretto::zmq {

/// Thread: loop.
class ListeningPort {
 public:
  /// Listens at host:port, where host is a numeric address of this host, or localhost.
  static Result<ListeningPort> open(std::string_view address);

  /// The address that peers can connect to.
  const std::string& address() const { return address_; }
  /// Has the socket accept connections. At most one call.
  Status accept_by(ZmqSocket& socket);
  bool is_paused() const { return paused_; }
  /// Keeps new connections out of the kernel's queue; queued ones are still accepted. A kernel
  /// without filters (a sandbox's) ignores it.
  void pause();
  void resume();

 private:
  ListeningPort(Descriptor listener, std::string bound, std::string address)
      : listener_(std::move(listener)), bound_(std::move(bound)), address_(std::move(address)) {}

  Descriptor listener_;
  std::string bound_;
  std::string address_;
  bool paused_ = false;
};

}  // namespace stretto::zmq
