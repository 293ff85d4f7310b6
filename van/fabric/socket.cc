// SPDX-License-Identifier: Apache-2.0
// The socket calls of the exchange of names.
#include "van/fabric/socket.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "common/config.h"
#include "common/failure.h"
#include "common/network.h"

namespace stretto::fabric {
namespace {

constexpr int kBacklog = 1024;

// Looks names up, which may take as long as the resolver likes.
Result<sockaddr_in> resolve(std::string_view address, bool may_be_any_port) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->port == 0 && !may_be_any_port) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot connect to '{}': port 0 is nobody's", address));
  }
  const std::string host = parsed->host == "*" ? "0.0.0.0" : parsed->host;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return Status(Code::kNetwork, fmt::format("host of '{}' cannot be resolved: {}", address,
                                              ::gai_strerror(error)));
  }
  sockaddr_in at{};
  ::memcpy(&at, found->ai_addr, sizeof at);
  ::freeaddrinfo(found);
  at.sin_port = htons(static_cast<std::uint16_t>(parsed->port));
  return at;
}

std::string host_of(const sockaddr_in& at) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text);
  return text;
}

sockaddr* generic(sockaddr_in& at) { return reinterpret_cast<sockaddr*>(&at); }

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
  Result<sockaddr_in> resolved = resolve(address, true);
  if (!resolved.ok()) return resolved.status();
  sockaddr_in at = *resolved;
  const auto failed = [&] {
    return stretto::failure(fmt::format("wanted to listen at '{}'", address), errno);
  };
  Listener made;
  made.socket = TcpSocket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket.open()) return failed();
  const int on = 1;
  ::setsockopt(made.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof at;
  if (::bind(made.socket.get(), generic(at), size) != 0 ||
      ::listen(made.socket.get(), kBacklog) != 0 ||
      ::getsockname(made.socket.get(), generic(at), &size) != 0) {
    return failed();
  }
  made.address = reachable_address(fmt::format("{}:{}", host_of(at), ntohs(at.sin_port)));
  made.host = made.address.substr(0, made.address.rfind(':'));
  return made;
}

Result<Dialled> dial_to(std::string_view address) {
  Result<sockaddr_in> resolved = resolve(address, false);
  if (!resolved.ok()) return resolved.status();
  sockaddr_in at = *resolved;
  const std::string far = host_of(at);
  Result<std::string> host = address_towards(far, ntohs(at.sin_port));
  if (!host.ok()) return host.status();
  Dialled made{.socket = {}, .host = *std::move(host), .local = is_own_host(far)};
  made.socket = TcpSocket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket.open()) return stretto::failure("wanted a socket", errno);
  const int on = 1;
  ::setsockopt(made.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(made.socket.get(), generic(at), sizeof at) != 0 && errno != EINPROGRESS) {
    return Status(errno == ECONNREFUSED ? Code::kRefused : Code::kLinkBroken,
                  fmt::format("no connection to {} could be made: {}", address, ::strerror(errno)));
  }
  return made;
}

AcceptedSocket accept_from(const TcpSocket& listener) {
  sockaddr_in from{};
  socklen_t size = sizeof from;
  AcceptedSocket caller;
  caller.socket =
      TcpSocket(::accept4(listener.get(), generic(from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (caller.socket.open()) {
    const int on = 1;
    ::setsockopt(caller.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    caller.local = is_own_host(host_of(from));
  }
  return caller;
}

}  // namespace stretto::fabric
