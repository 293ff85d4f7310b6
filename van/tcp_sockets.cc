// SPDX-License-Identifier: Apache-2.0
// connect() and accept() of sockets that do not block.
#include "van/tcp_sockets.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/failure.h"

namespace stretto {
namespace {

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<PendingConnect> begin_connect(const SocketAddress& to) {
  PendingConnect pending;
  pending.socket = Descriptor(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!pending.socket.is_open()) return failure("wanted a socket to connect by", errno);
  send_at_once(pending.socket.get());
  const bool begun = ::connect(pending.socket.get(), to.get(), to.size()) == 0 ||
                     errno == EINPROGRESS || errno == EINTR;
  if (!begun) pending.error = errno;
  return pending;
}

std::optional<int> connect_outcome(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  sockaddr_storage there{};
  size = sizeof there;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &size) == 0) return 0;
  if (errno == ENOTCONN) return std::nullopt;
  return errno;
}

AcceptedSocket accept_from(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  AcceptedSocket accepted;
  accepted.socket =
      Descriptor(::accept4(listener.get(), generic, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.socket.is_open()) {
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    accepted.error = none_left ? errno : 0;
    return accepted;
  }
  const SocketAddress from(generic);
  accepted.host = from.host();
  accepted.local =
      from.is_loopback() || from.has_host_of(SocketAddress::own_of(accepted.socket.get()));
  send_at_once(accepted.socket.get());
  return accepted;
}

}  // namespace stretto
