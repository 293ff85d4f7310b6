// SPDX-License-Identifier: Apache-2.0
// Asking the kernel: which source address it would choose, which addresses are ours, how many files
// we may open.
#include "common/network.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "common/descriptor.h"
#include "common/failure.h"

namespace stretto {
namespace {

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

}  // namespace

Result<std::string> address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::kNetwork,
                  fmt::format("host '{}' cannot be resolved: {}", host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> guard(found, freeaddrinfo);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Status(Code::kResource, "no socket could be opened");
  sockaddr_in own{};
  socklen_t size = sizeof own;
  char text[INET_ADDRSTRLEN] = {};
  // Connecting a datagram socket sends nothing; it only makes the kernel choose.
  const bool ok = connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                  inet_ntop(AF_INET, &own.sin_addr, text, sizeof text) != nullptr;
  close(fd);
  if (!ok) return Status(Code::kNetwork, fmt::format("there is no route to host '{}'", host));
  return std::string(text);
}

std::uint32_t interface_of(const std::string& address) {
  const Interfaces owner = interfaces();
  for (const ifaddrs* one = owner.get(); one != nullptr; one = one->ifa_next) {
    if (is_ipv4(*one) && text_of(*one->ifa_addr) == address) return if_nametoindex(one->ifa_name);
  }
  return 0;
}

std::string reachable_address(std::string_view address) {
  if (!address.starts_with(kEveryInterface)) return std::string(address);
  return address_of_host() + std::string(address.substr(kEveryInterface.size()));
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

Status listening_failure(const std::string& host, std::uint16_t port) {
  const std::string wanted = fmt::format("wanted to listen at {}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0) {
    return {Code::kNetwork,
            fmt::format("{}: {}; give an address of this host", wanted, ::gai_strerror(error))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.is_open() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    return failure(wanted, errno);
  }
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
