// SPDX-License-Identifier: Apache-2.0
// sockaddr_in and sockaddr_in6 in one.
#include "common/network/socket_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "common/system_error.h"

namespace stretto {
namespace {

sockaddr_in ipv4_in(const sockaddr_storage& storage) {
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

sockaddr_in6 ipv6_in(const sockaddr_storage& storage) {
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

sockaddr_in ipv4_mapped_by(const sockaddr_in6& address) {
  sockaddr_in mapped{};
  mapped.sin_family = AF_INET;
  mapped.sin_port = address.sin6_port;
  std::memcpy(&mapped.sin_addr, address.sin6_addr.s6_addr + 12, sizeof mapped.sin_addr);
  return mapped;
}

SocketAddress asked(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_storage found{};
  socklen_t size = sizeof found;
  auto* address = reinterpret_cast<sockaddr*>(&found);
  return ask(socket, address, &size) == 0 ? SocketAddress(address) : SocketAddress();
}

Status not_resolved(const std::string& host, int error, int system_error) {
  const std::string wanted = fmt::format("host '{}' cannot be resolved", host);
  if (error == EAI_SYSTEM) return failure(wanted, system_error);
  if (error == EAI_MEMORY) return failure(wanted, ENOMEM);
  return {Code::kNetwork, fmt::format("{}: {}", wanted, ::gai_strerror(error))};
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address) {
  if (address->sa_family == AF_INET) std::memcpy(&storage_, address, sizeof(sockaddr_in));
  if (address->sa_family != AF_INET6) return;
  std::memcpy(&storage_, address, sizeof(sockaddr_in6));
  const sockaddr_in6 ipv6 = ipv6_in(storage_);
  if (!IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) return;
  const sockaddr_in ipv4 = ipv4_mapped_by(ipv6);
  storage_ = {};
  std::memcpy(&storage_, &ipv4, sizeof ipv4);
}

std::optional<SocketAddress> SocketAddress::from_digits(const std::string& host,
                                                        std::uint16_t port) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
    return SocketAddress(reinterpret_cast<const sockaddr*>(&ipv4));
  }
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
    return SocketAddress(reinterpret_cast<const sockaddr*>(&ipv6));
  }
  return std::nullopt;
}

Result<SocketAddress> SocketAddress::resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return not_resolved(host, error, errno);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const addrinfo* best = nullptr;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const SocketAddress candidate(each->ai_addr);
    if (!candidate.is_known() || candidate.is_link_local()) continue;
    if (best == nullptr || (best->ai_family != AF_INET && each->ai_family == AF_INET)) best = each;
  }
  if (best == nullptr) return link_local_refusal(host);
  SocketAddress address(best->ai_addr);
  address.set_port(port);
  return address;
}

SocketAddress SocketAddress::peer_of(int socket) { return asked(::getpeername, socket); }

SocketAddress SocketAddress::own_of(int socket) { return asked(::getsockname, socket); }

std::string SocketAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const sockaddr_in ipv4 = ipv4_in(storage_);
  const sockaddr_in6 ipv6 = ipv6_in(storage_);
  if (family() == AF_INET) ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
  if (family() == AF_INET6) ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
  return text.data();
}

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(ipv4_in(storage_).sin_port);
  return family() == AF_INET6 ? ntohs(ipv6_in(storage_).sin6_port) : std::uint16_t{0};
}

void SocketAddress::set_port(std::uint16_t port) {
  sockaddr_in ipv4 = ipv4_in(storage_);
  sockaddr_in6 ipv6 = ipv6_in(storage_);
  ipv4.sin_port = htons(port);
  ipv6.sin6_port = htons(port);
  if (family() == AF_INET) std::memcpy(&storage_, &ipv4, sizeof ipv4);
  if (family() == AF_INET6) std::memcpy(&storage_, &ipv6, sizeof ipv6);
}

bool SocketAddress::is_loopback() const { return stretto::is_loopback(host()); }

bool SocketAddress::is_link_local() const {
  const sockaddr_in6 address = ipv6_in(storage_);
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr);
}

socklen_t SocketAddress::size() const {
  return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

Status link_local_refusal(const std::string& host) {
  return {Code::kInvalidArgument,
          fmt::format("host '{}' has only link-local addresses of IPv6, which mean another host on "
                      "each interface; give a global or a unique local address",
                      host)};
}

Descriptor listen_at(const SocketAddress& address, int backlog) {
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open() && errno == EAFNOSUPPORT && address.host() == "::") {
    return listen_at(*SocketAddress::from_digits("0.0.0.0", address.port()), backlog);
  }
  if (!socket.is_open()) return socket;
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket.get(), address.get(), address.size()) == 0 &&
      ::listen(socket.get(), backlog) == 0) {
    return socket;
  }
  const int error = errno;
  socket.close();
  errno = error;
  return {};
}

}  // namespace stretto
