// SPDX-License-Identifier: Apache-2.0
// connect() of a socket that does not block, and what is asked of it afterwards.
#include "van/tcp/dialing.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/failure.h"
#include "van/tcp/options.h"
#include "van/tcp_path.h"

namespace stretto::tcp {

Result<Dialed> dial(const SocketAddress& to, bool local) {
  Dialed dialed;
  dialed.socket = Descriptor(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!dialed.socket.is_open()) return failure("wanted a socket to connect by", errno);
  const int on = 1;
  const int socket = dialed.socket.get();
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (local) {
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kLocalSendBuffer, sizeof kLocalSendBuffer);
  }
  keep_alive(socket);
  const bool begun =
      ::connect(socket, to.get(), to.size()) == 0 || errno == EINPROGRESS || errno == EINTR;
  if (!begun) dialed.error = errno;
  return dialed;
}

std::optional<int> outcome_of(int socket) {
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

}  // namespace stretto::tcp
