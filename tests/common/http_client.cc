// SPDX-License-Identifier: Apache-2.0
// Returns only whole responses; tests of partial requests use the socket directly.
#include "tests/common/http_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/network/socket_address.h"

namespace stretto {

int connected_to(const std::string& address) {
  const HostPort at = parse_host_port(address).or_exit();
  const SocketAddress to = SocketAddress::from_digits(at.host, at.port).value();
  const int fd = socket(to.family(), SOCK_STREAM, 0);
  const timeval patience{.tv_sec = 15, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd, to.get(), to.size()) == 0) return fd;
  close(fd);
  return -1;
}

std::string answer_to(const std::string& address, const std::string& request) {
  const int fd = connected_to(address);
  if (fd < 0) return {};
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char some[4096];
  for (ssize_t count = 1; count > 0;) {
    count = read(fd, some, sizeof some);
    if (count > 0) answer.append(some, static_cast<std::size_t>(count));
  }
  close(fd);
  return answer;
}

}  // namespace stretto
