// SPDX-License-Identifier: Apache-2.0
// host:port to tcp:// and back. libzmq's own syntax (interfaces, source addresses) is not for
// users.
#include "van/zmq/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <memory>

#include "common/config.h"

namespace stretto::zmq {
namespace {

constexpr std::string_view kScheme = "tcp://";
constexpr std::string_view kEveryInterface = "0.0.0.0";

std::string text_of(const sockaddr& address) {
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, &address, sizeof ipv4);
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
  return text.data();
}

using Interfaces = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

Interfaces interfaces() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) found = nullptr;
  return {found, [](ifaddrs* list) {
            if (list != nullptr) freeifaddrs(list);
          }};
}

bool is_ipv4(const ifaddrs& one) {
  return one.ifa_addr != nullptr && one.ifa_addr->sa_family == AF_INET;
}

// The first IPv4 address of an interface that is up and leads out of this host; else loopback.
std::string address_of_host() {
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    if (!is_ipv4(*one)) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    return text_of(*one->ifa_addr);
  }
  return "127.0.0.1";
}

Result<HostPort> parse(std::string_view address) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok() || parsed->host.find_first_of("/;*@ ") == std::string::npos) return parsed;
  return Status(
      Code::kInvalidArgument,
      fmt::format("'{}' is no address, wanted host:port, such as 127.0.0.1:9000", address));
}

}  // namespace

Result<std::string> to_bind(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (!parsed.ok()) return parsed.status();
  const std::string host = parsed->host == "localhost" ? "127.0.0.1" : parsed->host;
  return fmt::format("{}{}:{}", kScheme, host, parsed->port);
}

Result<std::string> to_connect(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->port == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot connect to '{}': port 0 is nobody's", address));
  }
  return fmt::format("{}{}:{}", kScheme, parsed->host, parsed->port);
}

std::string reachable(std::string_view endpoint) {
  if (endpoint.starts_with(kScheme)) endpoint.remove_prefix(kScheme.size());
  if (!endpoint.starts_with(kEveryInterface)) return std::string(endpoint);
  return address_of_host() + std::string(endpoint.substr(kEveryInterface.size()));
}

bool is_own_host(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host.starts_with("127.")) return true;
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    if (is_ipv4(*one) && text_of(*one->ifa_addr) == host) return true;
  }
  return false;
}

}  // namespace stretto::zmq
