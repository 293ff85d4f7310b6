// SPDX-License-Identifier: Apache-2.0
// SocketAddress: an IPv4 or IPv6 address and a TCP or UDP port, in the kernel's form.
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

/// Thread: any. An IPv4-mapped IPv6 address (::ffff:10.0.0.7) counts as IPv4.
class SocketAddress {
 public:
  /// An unknown address: of neither family, at port 0.
  SocketAddress() = default;
  /// Copies a sockaddr_in or sockaddr_in6 of the kernel; another family gives an unknown address.
  explicit SocketAddress(const sockaddr* address);

  /// The address of a numeric host, such as 10.0.0.7 or fd00::7; none for a name.
  static std::optional<SocketAddress> from_digits(const std::string& host, std::uint16_t port);
  /// Resolves a name, which may block for the resolver's timeout. A name with addresses of both
  /// families gives its first IPv4 address. Errors: Network, or InvalidArgument for a link-local
  /// IPv6 address, which means another host on each interface.
  static Result<SocketAddress> resolve(const std::string& host, std::uint16_t port);
  /// The two ends of a connected socket, or the bound address of a listening socket; unknown if the
  /// kernel has none.
  static SocketAddress peer_of(int socket);
  static SocketAddress own_of(int socket);

  int family() const { return storage_.ss_family; }
  bool is_known() const { return family() != AF_UNSPEC; }
  /// Numeric, without brackets; empty for an unknown address.
  std::string host() const;
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  /// "10.0.0.7:9000", "[fd00::7]:9000".
  std::string text() const { return HostPort{host(), port()}.text(); }
  bool is_loopback() const;
  /// True for a link-local IPv6 address, which means another host on each interface.
  bool is_link_local() const;
  bool has_host_of(const SocketAddress& other) const { return host() == other.host(); }

  /// For bind() and connect().
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;

 private:
  sockaddr_storage storage_{};
};

/// The error for a link-local address, with a remedy.
Status link_local_refusal(const std::string& host);

/// A non-blocking TCP listener; at :: it also accepts IPv4, or only IPv4 if the kernel has no IPv6.
/// On failure the descriptor is not open and errno has the cause.
Descriptor listen_at(const SocketAddress& address, int backlog);

}  // namespace stretto
