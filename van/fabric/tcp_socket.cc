// SPDX-License-Identifier: Apache-2.0
// The socket calls of the bootstrap.
#include "van/fabric/tcp_socket.h"

#include <fmt/core.h>
#include <string.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/network/network.h"
#include "common/network/socket_address.h"
#include "common/system_error.h"
#include "van/transport/tcp_sockets.h"

namespace stretto::fabric {
namespace {

constexpr int kBacklog = 1024;

// Resolves names; this may take any time.
Result<SocketAddress> resolve(const Result<HostPort>& address) {
  if (!address.ok()) return address.status();
  return SocketAddress::resolve(address->host == "*" ? "0.0.0.0" : address->host, address->port);
}

}  // namespace

bool TcpSocket::send(std::span<const std::byte> bytes) const {
  return ::send(get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

int TcpSocket::receive(std::span<std::byte> into) const {
  const ssize_t result = ::recv(get(), into.data(), into.size(), MSG_DONTWAIT);
  if (result >= 0) return static_cast<int>(result);
  return errno == EAGAIN || errno == EINTR ? -1 : -2;
}

void TcpSocket::finish() const { ::shutdown(get(), SHUT_WR); }

Result<Listener> listen_at(std::string_view address) {
  const Result<SocketAddress> resolved = resolve(parse_host_port(address));
  if (!resolved.ok()) return resolved.status();
  Listener made;
  made.socket = TcpSocket(stretto::listen_at(*resolved, kBacklog));
  const SocketAddress bound =
      made.socket.open() ? SocketAddress::own_of(made.socket.get()) : SocketAddress();
  if (!bound.is_known()) {
    return stretto::failure(fmt::format("wanted to listen at '{}'", address), errno);
  }
  made.address = reachable_address(bound.text());
  made.host = parse_host_port(made.address)->host;
  return made;
}

Result<Dialled> dial_to(std::string_view address) {
  const Result<SocketAddress> to = resolve(remote_address(address));
  if (!to.ok()) return to.status();
  Result<std::string> host = address_towards(to->host(), to->port());
  if (!host.ok()) return host.status();
  Result<PendingConnect> begun = begin_connect(*to);
  if (!begun.ok()) return begun.status();
  if (begun->error != 0) {
    return Status(
        begun->error == ECONNREFUSED ? Code::kRefused : Code::kLinkBroken,
        fmt::format("no connection to {} could be made: {}", address, ::strerror(begun->error)));
  }
  return Dialled{.socket = TcpSocket(std::move(begun->socket)),
                 .host = *std::move(host),
                 .local = is_own_host(to->host())};
}

}  // namespace stretto::fabric
