// SPDX-License-Identifier: Apache-2.0
// Calls of the kernel.
#include "tools/launch/remote/tcp.h"

#include <errno.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/check.h"
#include "common/network/socket_address.h"

namespace stretto::launch {
Status socket_error(std::string_view what) {
  return {Code::kNetwork, fmt::format("{}: {}", what, ::strerror(errno))};
}

void keep_alive(int descriptor) {
  const int on = 1;
  const int idle_seconds = 20;
  const int interval_seconds = 10;
  const int tries = 4;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Result<OpenPort> open_port(std::string_view host, std::uint16_t port) {
  OpenPort opened;
  const auto at = SocketAddress::from_digits(std::string(host), port);
  STRETTO_CHECK(at.has_value());
  opened.socket = listen_at(*at, SOMAXCONN);
  if (!opened.socket.is_open()) return socket_error("no port to listen at");
  opened.port = SocketAddress::own_of(opened.socket.get()).port();
  return opened;
}

Result<OpenPort> open_port_to_all(std::uint16_t port) {
  Result<OpenPort> both = open_port("::", port);
  return both.ok() ? std::move(both) : open_port("0.0.0.0", port);
}

Result<Descriptor> connect_to(const HostPort& address, Duration patience, const Clock& clock) {
  const Result<SocketAddress> to = SocketAddress::resolve(address.host, address.port);
  if (!to.ok()) return Status(Code::kInvalidArgument, to.status().cause());
  Descriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket_error("no socket");
  int error = 0;
  if (::connect(socket.get(), to->get(), to->size()) != 0) error = errno;
  for (const Time until = clock.now() + patience; error == EINPROGRESS || error == EINTR;) {
    pollfd look{socket.get(), POLLOUT, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
    if (left <= 0) {
      error = ETIMEDOUT;
    } else if (::poll(&look, 1, static_cast<int>(left)) > 0) {
      socklen_t size = sizeof error;
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  errno = error;
  if (error != 0) return socket_error("no connection");
  keep_alive(socket.get());
  return socket;
}

std::vector<std::string> try_to_reach(const std::vector<std::string>& addresses, Duration patience,
                                      const Clock& clock) {
  std::vector<std::string> causes;
  for (const std::string& one : addresses) {
    const Result<HostPort> address = parse_host_port(one);
    const Status status =
        address.ok() ? connect_to(*address, patience, clock).status() : address.status();
    causes.push_back(status.ok() ? "" : status.cause());
  }
  return causes;
}

}  // namespace stretto::launch
