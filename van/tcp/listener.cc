// SPDX-License-Identifier: Apache-2.0
// The socket calls of a listener.
#include "van/tcp/listener.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/network/network.h"
#include "common/network/socket_address.h"
#include "common/system_error.h"
#include "van/tcp/options.h"

namespace stretto::tcp {
namespace {

// While our loop is busy, new connections wait in the kernel. It cuts this to net.core.somaxconn.
constexpr int kBacklog = 4096;

}  // namespace

Result<ListeningSocket> ListeningSocket::open(std::string_view address, EpollSet& watch,
                                              std::uint64_t token) {
  const Result<SocketAddress> at = listening_address(address);
  if (!at.ok()) return at.status();
  Descriptor socket = listen_at(*at, kBacklog);
  const SocketAddress bound =
      socket.is_open() ? SocketAddress::own_of(socket.get()) : SocketAddress();
  if (!bound.is_known()) return failure(fmt::format("wanted to listen at '{}'", address), errno);
  if (Status status = watch.add(socket.get(), token); !status.ok()) return status;
  std::string reachable = reachable_address(bound.text());
  return ListeningSocket(std::move(socket), std::move(reachable), watch, token);
}

void ListeningSocket::listen_again() {
  if (!listening_) listening_ = watch_->add(socket_.get(), token_).ok();
}

AcceptedSocket ListeningSocket::accept() {
  AcceptedSocket caller = accept_from(socket_);
  if (caller.local) enlarge_send_buffer(caller.socket.get());
  if (caller.error == 0) return caller;
  watch_->remove(socket_.get());
  listening_ = false;
  if (!lack_.due(SteadyClock().now())) return caller;
  log(Level::kWarning, "somebody wants to connect to {}, but: {}; raise the limit (ulimit -n)",
      address_, std::strerror(caller.error));
  return caller;
}

}  // namespace stretto::tcp
