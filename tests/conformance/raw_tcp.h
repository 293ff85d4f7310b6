// SPDX-License-Identifier: Apache-2.0
// A TCP connection that knows nothing of what the far end expects.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "common/config.h"

namespace stretto::conformance {

inline sockaddr_in socket_address(const std::string& address) {
  const HostPort parsed = *parse_host_port(address);
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(parsed.port);
  inet_pton(AF_INET, parsed.host.c_str(), &result.sin_addr);
  return result;
}

class RawTcp {
 public:
  explicit RawTcp(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in to = socket_address(address);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~RawTcp() { ::close(socket_); }
  RawTcp(const RawTcp&) = delete;
  RawTcp& operator=(const RawTcp&) = delete;

  void send(std::string_view bytes) {
    // The far end may have hung up already, which is its right.
    if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
  /// True once the far end has hung up.
  bool ended() {
    while (!ended_ && !read().empty()) continue;
    return ended_;
  }
  /// True once the far end has said something, as libzmq does to who is accepted.
  bool was_sent_to() { return !read().empty(); }
  /// What has come, if anything has.
  std::string read() {
    char bytes[256];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    ended_ = ended_ || count == 0 || (count < 0 && errno != EAGAIN);
    return {bytes, count > 0 ? static_cast<std::size_t>(count) : 0};
  }

 private:
  int socket_;
  bool ended_ = false;
};

}  // namespace stretto::conformance
