// SPDX-License-Identifier: Apache-2.0
// Queries the kernel for the source address towards a peer, for this host's addresses, and for the
// limit on open files.
#include "common/network/network.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "common/descriptor.h"
#include "common/network/host_port.h"
#include "common/network/socket_address.h"
#include "common/system_error.h"

namespace stretto {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

Interfaces interfaces() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) found = nullptr;
  return {found, [](ifaddrs* list) {
            if (list != nullptr) freeifaddrs(list);
          }};
}

// Unknown for an interface without an IP address, or with a link-local address.
SocketAddress address_of(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr) return {};
  const SocketAddress address(interface.ifa_addr);
  return address.is_link_local() ? SocketAddress() : address;
}

// The first address of `family` on an interface that is up and not loopback; empty: none.
std::string address_of_host(int family) {
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const SocketAddress address = address_of(*one);
    if (address.family() == family) return address.host();
  }
  return {};
}

// A listener at :: accepts IPv4, too.
std::string reachable_host(bool over_ipv6) {
  std::string host = over_ipv6 ? address_of_host(AF_INET6) : std::string();
  if (host.empty()) host = address_of_host(AF_INET);
  if (!host.empty()) return host;
  return over_ipv6 ? "::1" : "127.0.0.1";
}

}  // namespace

Result<std::string> address_towards(const std::string& host, std::uint16_t port) {
  const Result<SocketAddress> to = SocketAddress::resolve(host, port);
  if (!to.ok()) return to.status();
  const Descriptor socket(::socket(to->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return failure("wanted a socket", errno);
  // Connecting a datagram socket sends nothing; it only makes the kernel choose.
  const bool routed = ::connect(socket.get(), to->get(), to->size()) == 0;
  const SocketAddress own = routed ? SocketAddress::own_of(socket.get()) : SocketAddress();
  if (own.is_known()) return own.host();
  return Status(Code::kNetwork, fmt::format("there is no route to host '{}'", host));
}

std::uint32_t interface_of(const std::string& address) {
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    const SocketAddress own = address_of(*one);
    if (own.is_known() && own.host() == address) return if_nametoindex(one->ifa_name);
  }
  return 0;
}

std::string reachable_address(std::string_view address) {
  const Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok() || !is_any_address(parsed->host)) return std::string(address);
  return HostPort{reachable_host(parsed->host == "::"), parsed->port}.text();
}

bool is_own_host(std::string_view address) {
  const Result<HostPort> parsed = parse_host_port(address);
  std::string host(parsed.ok() ? parsed->host : without_brackets(address));
  if (const auto digits = SocketAddress::from_digits(host, 0)) host = digits->host();
  if (is_loopback(host)) return true;
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    const SocketAddress own =
        one->ifa_addr == nullptr ? SocketAddress() : SocketAddress(one->ifa_addr);
    if (own.is_known() && own.host() == host) return true;
  }
  return false;
}

Status listening_failure(const std::string& host, std::uint16_t port) {
  const std::string wanted = fmt::format("wanted to listen at {}", HostPort{host, port}.text());
  const Result<SocketAddress> at = SocketAddress::resolve(host, port);
  if (!at.ok()) {
    return {at.status().code(),
            fmt::format("{}: {}; give an address of this host", wanted, at.status().cause())};
  }
  if (!listen_at(*at, 1).is_open()) return failure(wanted, errno);
  return {Code::kNetwork, wanted +
                              ": the system did not say why not; it can be done now, so try "
                              "again"};
}

Status raise_file_limit(std::uint64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {Code::kResource, "getrlimit failed"};
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return {};
  return {Code::kResource,
          fmt::format("this process may open {} files and needs {}; raise the limit (ulimit -n {})",
                      limit.rlim_cur, needed, needed)};
}

}  // namespace stretto
