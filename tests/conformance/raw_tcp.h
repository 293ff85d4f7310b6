// SPDX-License-Identifier: Apache-2.0
// A TCP connection with no protocol above it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "common/descriptor.h"

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
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  explicit RawTcp(Descriptor socket) : socket_(std::move(socket)) {}

  void send(std::string_view bytes) {
    // The peer may have closed the connection already, which is its right.
    if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
  /// Shuts down the sending direction.
  void finish() { ::shutdown(socket_.get(), SHUT_WR); }
  /// Closing will reset the connection.
  void reset_when_closed() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  /// True once the peer has closed the connection.
  bool ended() {
    while (!ended_ && !read().empty()) continue;
    return ended_;
  }
  /// True once the peer has sent something, as ZMTP requires of an accepting end.
  bool was_sent_to() { return !read().empty(); }
  /// The received bytes, possibly none.
  std::string read() {
    char bytes[256];
    const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    ended_ = ended_ || count == 0 || (count < 0 && errno != EAGAIN);
    return {bytes, count > 0 ? static_cast<std::size_t>(count) : 0};
  }

 private:
  Descriptor socket_;
  bool ended_ = false;
};

/// A listener with no protocol above it.
class RawListener {
 public:
  explicit RawListener(int backlog = 8) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at = socket_address("127.0.0.1:0");
    auto* name = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_.get(), name, size), 0);
    EXPECT_EQ(::listen(socket_.get(), backlog), 0);
    EXPECT_EQ(::getsockname(socket_.get(), name, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }

  const std::string& address() const { return address_; }
  /// Waits for the next connection.
  RawTcp accept() const { return RawTcp(Descriptor(::accept(socket_.get(), nullptr, nullptr))); }

 private:
  Descriptor socket_;
  std::string address_;
};

/// Sends each of `texts` over many connections, and closes every other one at once. Calls `works`
/// between them.
inline void send_garbage(const std::string& address, std::span<const std::string> texts,
                         const std::function<void()>& works) {
  std::vector<std::unique_ptr<RawTcp>> open;
  for (int round = 0; round < 10; ++round) {
    for (const std::string& text : texts) {
      open.push_back(std::make_unique<RawTcp>(address));
      open.back()->send(text);
      if (round % 2 == 0) open.pop_back();
    }
    works();
  }
  open.clear();
  works();
}

}  // namespace stretto::conformance
