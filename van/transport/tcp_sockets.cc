// SPDX-License-Identifier: Apache-2.0
// connect() and accept() of non-blocking sockets, and their options.
#include "van/transport/tcp_sockets.h"

#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/system_error.h"

namespace stretto {
namespace {

Result<HostPort> parse(std::string_view address) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok()) return parsed;
  const auto digits = SocketAddress::from_digits(parsed->host, parsed->port);
  if (digits && digits->is_link_local()) return link_local_refusal(parsed->host);
  if (parsed->host.find_first_of("/;*@ ") != std::string::npos) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("'{}' is no address, wanted host:port, such as 127.0.0.1:9000", address));
  }
  if (parsed->host == "localhost") parsed->host = "127.0.0.1";
  return parsed;
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<SocketAddress> listening_address(std::string_view address) {
  const Result<HostPort> parsed = parse(address);
  if (!parsed.ok()) return parsed.status();
  if (auto at = SocketAddress::from_digits(parsed->host, parsed->port)) return *at;
  return Status(Code::kInvalidArgument,
                fmt::format("wanted to listen at '{}', but '{}' is no address; give one of this "
                            "host in digits, or 0.0.0.0, or [::]",
                            address, parsed->host));
}

Result<HostPort> remote_address(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (parsed.ok() && parsed->port == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot connect to '{}': port 0 is nobody's", address));
  }
  return parsed;
}

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
