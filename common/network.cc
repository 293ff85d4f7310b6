// SPDX-License-Identifier: Apache-2.0
// Asking the kernel: which source address it would choose, how many files we may open.
#include "common/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace stretto {

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
