// SPDX-License-Identifier: Apache-2.0
// SocketAddress: an address and a port of TCP or UDP, over IPv4 or IPv6, as the kernel has it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/descriptor.h"
#include "common/network/host_port.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: any. An address of IPv4 that IPv6 maps (::ffff:10.0.0.7) counts as that of IPv4.
class SocketAddress {
 public:
  /// Of neither family, at port 0.
  SocketAddress() = default;
  /// Copies what the kernel gave: a sockaddr_in or a sockaddr_in6, else of neither family.
  explicit SocketAddress(const sockaddr* address);

  /// The address that digits name, such as 10.0.0.7 or fd00::7; none for a name.
  static std::optional<SocketAddress> from_digits(const std::string& host, std::uint16_t port);
  /// Looks a name up, which may take as long as the resolver likes. A name that has addresses of
  /// both families means the first of IPv4. Errors: Network, or InvalidArgument for a link-local
  /// address of IPv6, which means another host on each interface.
  static Result<SocketAddress> resolve(const std::string& host, std::uint16_t port);
  /// The two ends of a connected socket, or what a listening one is bound to; of neither family if
  /// the kernel knows none.
  static SocketAddress peer_of(int socket);
  static SocketAddress own_of(int socket);

  int family() const { return storage_.ss_family; }
  bool is_known() const { return family() != AF_UNSPEC; }
  /// In digits, without brackets; empty if it is of neither family.
  std::string host() const;
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  /// "10.0.0.7:9000", "[fd00::7]:9000".
  std::string text() const { return HostPort{host(), port()}.text(); }
  bool is_loopback() const;
  /// An address of IPv6 that means another host on each interface: no other host can use it.
  bool is_link_local() const;
  bool has_host_of(const SocketAddress& other) const { return host() == other.host(); }

  /// For bind() and connect().
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;

 private:
  sockaddr_storage storage_{};
};

/// The refusal of a link-local address, with what to give instead.
Status link_local_refusal(const std::string& host);

/// A TCP socket that listens at an address without blocking; at :: also for IPv4, and for IPv4
/// alone if the kernel has no IPv6. Not open: errno has the reason.
Descriptor listen_at(const SocketAddress& address, int backlog);

}  // namespace stretto
