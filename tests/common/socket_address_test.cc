// SPDX-License-Identifier: Apache-2.0
// Addresses of the kernel, and sockets that listen at them.
#include "common/network/socket_address.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace stretto {
namespace {

using testing::HasSubstr;

SocketAddress digits(const std::string& host, std::uint16_t port) {
  return SocketAddress::from_digits(host, port).value();
}

// A blocking connection; not open if it is refused.
Descriptor connected(const SocketAddress& to) {
  Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), to.get(), to.size()) != 0) return {};
  return socket;
}

SocketAddress caller_of(const Descriptor& listener) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  auto* const generic = reinterpret_cast<sockaddr*>(&from);
  const Descriptor accepted(::accept4(listener.get(), generic, &size, SOCK_CLOEXEC));
  return accepted.is_open() ? SocketAddress(generic) : SocketAddress();
}

TEST(SocketAddress, ReadsDigitsOfBothFamilies) {
  for (const char* host : {"10.0.0.7", "::1", "fd00::7"}) {
    const SocketAddress address = digits(host, 9000);
    EXPECT_EQ(address.host(), host);
    EXPECT_EQ(address.port(), 9000);
  }
  EXPECT_EQ(digits("fd00:0:0::7", 1).text(), "[fd00::7]:1");
  for (const char* host : {"", "localhost", "[::1]", "10.0.0", "fe80::1%lo"}) {
    EXPECT_FALSE(SocketAddress::from_digits(host, 1).has_value()) << host;
  }
}

TEST(SocketAddress, MappedAddressCountsAsIpv4) {
  const SocketAddress mapped = digits("::ffff:127.0.0.1", 9000);
  EXPECT_EQ(mapped.family(), AF_INET);
  EXPECT_EQ(mapped.text(), "127.0.0.1:9000");
  EXPECT_TRUE(mapped.is_loopback());
  EXPECT_TRUE(mapped.has_host_of(digits("127.0.0.1", 1)));
}

TEST(SocketAddress, PrefersIpv4OfAName) {
  EXPECT_EQ(SocketAddress::resolve("localhost", 9000).or_exit().text(), "127.0.0.1:9000");
  EXPECT_THAT(SocketAddress::resolve("no-such-host.invalid", 1).status().cause(),
              HasSubstr("'no-such-host.invalid' cannot be resolved"));
}

TEST(SocketAddress, RefusesLinkLocalAddresses) {
  const Status status = SocketAddress::resolve("fe80::1%lo", 1).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("give a global or a unique local address"));
}

TEST(SocketAddress, UnknownFamilyHasNoHost) {
  EXPECT_FALSE(SocketAddress().is_known());
  EXPECT_EQ(SocketAddress().host(), "");
  EXPECT_FALSE(SocketAddress::own_of(-1).is_known());
}

TEST(SocketAddress, ListensAtIpv6ForBothFamilies) {
  const Descriptor listener = listen_at(digits("::", 0), 8);
  if (!listener.is_open()) {
    EXPECT_EQ(errno, EAFNOSUPPORT) << "only a kernel without IPv6 refuses it";
    return;
  }
  const std::uint16_t port = SocketAddress::own_of(listener.get()).port();
  for (const char* host : {"127.0.0.1", "::1"}) {
    const Descriptor socket = connected(digits(host, port));
    if (!socket.is_open()) continue;  // Loopback may lack one of the families.
    ::fcntl(listener.get(), F_SETFL, 0);
    EXPECT_EQ(caller_of(listener).host(), host);
    EXPECT_EQ(SocketAddress::peer_of(socket.get()).port(), port);
  }
}

TEST(SocketAddress, TakenPortIsAnError) {
  const Descriptor first = listen_at(digits("127.0.0.1", 0), 8);
  ASSERT_TRUE(first.is_open());
  const Descriptor second = listen_at(SocketAddress::own_of(first.get()), 8);
  EXPECT_FALSE(second.is_open());
  EXPECT_EQ(errno, EADDRINUSE);
}

}  // namespace
}  // namespace stretto
