// SPDX-License-Identifier: Apache-2.0
// ListeningPort: the TCP socket that others connect to. It is ours, and libzmq accepts by a copy of
// it (ZMQ_USE_FD): libzmq can stop accepting only by ending all connections that it has accepted
// (zmq_unbind). So a filter of the kernel drops what begins a connection instead, for a while.
// Clients try again after a second, and none is refused.
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
  /// Listens at host:port, where host is an address of this host in digits, or localhost.
  static Result<ListeningPort> open(std::string_view address);

  /// As others can connect to it.
  const std::string& address() const { return address_; }
  /// The socket accepts who connects. Once.
  Status accept_by(ZmqSocket& socket);
  bool is_paused() const { return paused_; }
  /// No new connection reaches the kernel's queue; those in it are still accepted. A kernel without
  /// filters (a sandbox's) goes on.
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
