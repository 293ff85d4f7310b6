// SPDX-License-Identifier: Apache-2.0
// The kernel's reports on real connections of this host.
#include "van/transport/tcp_info.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <vector>

#include "common/descriptor.h"

namespace stretto {
namespace {

class TcpPathTest : public testing::Test {
 protected:
  TcpPathTest() {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
    near_ = Descriptor(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(::connect(near_.get(), generic, size), 0);
    far_ = Descriptor(::accept(listener.get(), nullptr, nullptr));
  }

  /// Sends until the kernel's buffers are full.
  void fill() {
    const std::vector<std::byte> bytes(1 << 20);
    while (::send(near_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }

  Descriptor near_;
  Descriptor far_;
};

TEST_F(TcpPathTest, CountsBytesAckedByFarKernel) {
  const std::uint64_t before = path_signs(near_.get())->acked_bytes;
  ASSERT_EQ(::send(near_.get(), "hello", 5, 0), 5);
  PathSample signs;
  do {
    signs = *path_signs(near_.get());
  } while (signs.unacked);
  EXPECT_EQ(signs.acked_bytes, before + 5);
  EXPECT_EQ(signs.unanswered, 0U);
}

TEST_F(TcpPathTest, AFarEndThatReadsNothingOwesNothing) {
  fill();
  while (path_signs(near_.get())->unacked) {
  }
  const PathSample signs = *path_signs(near_.get());
  EXPECT_FALSE(signs.unacked) << "its window is shut";
  EXPECT_LT(signs.unanswered, PathLiveness::kLeastUnanswered);
}

TEST_F(TcpPathTest, AsksWhetherAnIdleFarEndIsThere) {
  keep_alive(near_.get());
  const auto option = [this](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(near_.get(), IPPROTO_TCP, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(TCP_KEEPIDLE), kKeepAliveIdle);
  EXPECT_EQ(option(TCP_KEEPINTVL), kKeepAliveInterval);
  EXPECT_EQ(option(TCP_KEEPCNT), kKeepAliveTries);
}

TEST_F(TcpPathTest, ReportsNothingForNonConnection) {
  EXPECT_FALSE(path_signs(0).has_value());
  EXPECT_FALSE(path_signs(-1).has_value());
}

TEST_F(TcpPathTest, AConnectionThatHasEndedOwesNothing) {
  far_.close();
  fill();
  EXPECT_FALSE(path_signs(near_.get())->unacked);
}

}  // namespace
}  // namespace stretto
