// SPDX-License-Identifier: Apache-2.0
// The listening socket of the TCP transport. It pauses while no descriptor is free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/descriptor.h"
#include "common/log_limiter.h"
#include "stretto/status.h"
#include "van/transport/epoll_set.h"
#include "van/transport/tcp_sockets.h"

namespace stretto::tcp {

/// Thread: loop. The watch must outlive it.
class ListeningSocket {
 public:
  /// Listens at host:port, where host is an IPv4 address of this host or localhost. The watch
  /// reports new connections by `token`.
  static Result<ListeningSocket> open(std::string_view address, EpollSet& watch,
                                      std::uint64_t token);

  /// The address that peers can connect to.
  const std::string& address() const { return address_; }
  /// The next new connection. If no descriptor is left for it, the watch reports no connections
  /// until listen_again(): a listener that is always readable would keep the loop from waiting.
  AcceptedSocket accept();
  /// Has the watch report new connections again.
  void listen_again();

 private:
  ListeningSocket(Descriptor socket, std::string address, EpollSet& watch, std::uint64_t token)
      : socket_(std::move(socket)), address_(std::move(address)), watch_(&watch), token_(token) {}

  Descriptor socket_;
  std::string address_;
  EpollSet* watch_;
  std::uint64_t token_;
  bool listening_ = true;  // The watch has it.
  LogLimiter lack_;
};

}  // namespace stretto::tcp
