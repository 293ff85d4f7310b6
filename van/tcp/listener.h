// SPDX-License-Identifier: Apache-2.0
// The socket that others connect to.
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

/// Thread: loop. The watch outlives it.
class ListeningSocket {
 public:
  /// Listens at host:port, where host is an IPv4 address of this host or localhost. The watch tells
  /// of those who connect by `token`.
  static Result<ListeningSocket> open(std::string_view address, EpollSet& watch,
                                      std::uint64_t token);

  /// That others can connect to.
  const std::string& address() const { return address_; }
  /// The next one who has connected. Where no descriptor is left for it, nobody is heard of until
  /// listen_again(): a listener that is always readable stops nobody.
  AcceptedSocket accept();
  /// Has the watch tell of those who connect, if it does not.
  void listen_again();

 private:
  ListeningSocket(Descriptor socket, std::string address, EpollSet& watch, std::uint64_t token)
      : socket_(std::move(socket)), address_(std::move(address)), watch_(&watch), token_(token) {}

  Descriptor socket_;
  std::string address_;
  EpollSet* watch_;
  std::uint64_t token_;
  bool listening_ = true;  // Is in the watch.
  LogLimiter lack_;
};

}  // namespace stretto::tcp
