// SPDX-License-Identifier: Apache-2.0
// Sets only TCP_NODELAY: the behaviour of a program that does not consider preemption.
#include "tools/bench/support/sockets.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "common/config/config.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

Descriptor open_socket() { return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<std::pair<Descriptor, std::uint32_t>> listen_at(const std::string& host) {
  Descriptor listener = open_socket();
  sockaddr_in address = address_of(host, 0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0) {
    return refused(Code::kNetwork, fmt::format("cannot listen at {}", host));
  }
  return std::pair(std::move(listener), std::uint32_t{ntohs(address.sin_port)});
}

Result<Descriptor> accept_one(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) return refused(Code::kNetwork, "cannot accept");
  send_at_once(socket);
  return socket;
}

Result<Descriptor> connect_to(const std::string& address) {
  const Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok()) return parsed.status();
  const sockaddr_in there = address_of(parsed->host, static_cast<std::uint16_t>(parsed->port));
  Descriptor socket = open_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
    return refused(Code::kNetwork, fmt::format("cannot connect to {}", address));
  }
  send_at_once(socket);
  return socket;
}

std::string congestion_control_of(const Descriptor& socket) {
  std::array<char, 17> name{};
  socklen_t size = name.size() - 1;
  ::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size);
  return name.data();
}

bool read_all(int descriptor, std::span<std::byte> bytes) {
  return ::recv(descriptor, bytes.data(), bytes.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(bytes.size());
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace stretto::bench
