// SPDX-License-Identifier: Apache-2.0
// Addresses as users write them, of both families.
#include "common/network/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

TEST(HostPort, SplitsAtTheLastColon) {
  for (const auto& [text, host, port] :
       {std::tuple{"127.0.0.1:9000", "127.0.0.1", 9000}, std::tuple{"[::1]:80", "::1", 80},
        std::tuple{"a:0", "a", 0}, std::tuple{"a:65535", "a", 65535}}) {
    const Result<HostPort> parsed = parse_host_port(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
    EXPECT_EQ(parsed->text(), text);
  }
}

TEST(HostPort, RefusesOtherTexts) {
  for (const char* text : {"", ":", ":80", "host", "host:", "host:-1", "host:65536", "host:8x",
                           "host:99999999999999999999", "::1:9000", "fd00::7", "[::1]", "[::1",
                           "[]:9", "[a]:9", "a]:9", "[[::1]]:9", "[::1]x:9", "[::1]:9:9"}) {
    EXPECT_FALSE(parse_host_port(text).ok()) << text;
  }
  EXPECT_THAT(parse_host_port("::1:9000").status().cause(),
              HasSubstr("'::1:9000' is no address, wanted host:port, such as 127.0.0.1:9000 or "
                        "[::1]:9000"));
}

TEST(HostPort, LoopbackIsOneHostOnly) {
  for (const char* host : {"localhost", "::1", "[::1]", "127.0.0.1", "127.1.2.3"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "10.0.0.1", "128.0.0.1", "1270.0.0.1", "localhost.x",
                           "127.example.com", "::"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(HostPort, AnyAddressIsKnownInBothFamilies) {
  for (const char* host : {"0.0.0.0", "::", "[::]"}) EXPECT_TRUE(is_any_address(host)) << host;
  for (const char* host : {"", "127.0.0.1", "::1"}) EXPECT_FALSE(is_any_address(host)) << host;
}

}  // namespace
}  // namespace stretto
