// SPDX-License-Identifier: Apache-2.0
// Calls of the kernel.
#include "tools/launch/tcp.h"

#include <errno.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

namespace stretto::launch {
namespace {

Result<sockaddr_in> resolve(const HostPort& address) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &found); error != 0) {
    return Status(Code::kInvalidArgument, fmt::format("host '{}' cannot be resolved: {}",
                                                      address.host, ::gai_strerror(error)));
  }
  sockaddr_in to = *reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  ::freeaddrinfo(found);
  to.sin_port = htons(address.port);
  return to;
}

}  // namespace

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

Result<OpenPort> open_port(in_addr_t host, std::uint16_t port) {
  OpenPort opened;
  opened.socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(host);
  own.sin_port = htons(port);
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  const int on = 1;  // As jobs' own listeners have it: a port is free again at once.
  ::setsockopt(opened.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!opened.socket.is_open() || ::bind(opened.socket.get(), address, size) != 0 ||
      ::listen(opened.socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(opened.socket.get(), address, &size) != 0) {
    return socket_error("no port to listen at");
  }
  opened.port = ntohs(own.sin_port);
  return opened;
}

Result<Descriptor> connect_to(const HostPort& address, Duration patience, const Clock& clock) {
  const Result<sockaddr_in> to = resolve(address);
  if (!to.ok()) return to.status();
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket_error("no socket");
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*to), sizeof *to) != 0) {
    error = errno;
  }
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
