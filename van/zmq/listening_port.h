// SPDX-License-Identifier: Apache-2.0
// ListeningPort: the TCP socket that others connect to. It is ours, and libzmq accepts by a copy of
// it (ZMQ_USE_FD). So the port stays open while libzmq is told to accept no more: clients that come
// meanwhile wait in the kernel, and none is refused.
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
  bool is_local() const { return local_; }
  bool is_accepting() const { return !endpoint_.empty(); }
  /// Lets the socket accept who connects.
  Status resume(ZmqSocket& socket);
  /// The socket accepts no more, soon.
  void pause(ZmqSocket& socket);

 private:
  ListeningPort(Descriptor listener, std::string bound, std::string address, bool local)
      : listener_(std::move(listener)),
        bound_(std::move(bound)),
        address_(std::move(address)),
        local_(local) {}

  Descriptor listener_;
  std::string bound_;
  std::string address_;
  bool local_;
  std::string endpoint_;  // What libzmq calls it; empty: it does not accept.
};

}  // namespace stretto::zmq
