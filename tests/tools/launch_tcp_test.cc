// SPDX-License-Identifier: Apache-2.0
// Ports on loopback: open, closed and taken.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LaunchTcp, OpenPortIsReached) {
  const Result<OpenPort> opened = open_port("127.0.0.1", 0);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  EXPECT_THAT(try_to_reach({fmt::format("127.0.0.1:{}", opened->port)}, std::chrono::seconds(5),
                           SteadyClock()),
              ElementsAre(IsEmpty()));
}

TEST(LaunchTcp, ClosedPortHasCause) {
  std::uint16_t port = 0;
  {
    const Result<OpenPort> opened = open_port("127.0.0.1", 0);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    port = opened->port;
  }
  EXPECT_THAT(try_to_reach({fmt::format("127.0.0.1:{}", port), "nonsense"}, std::chrono::seconds(5),
                           SteadyClock()),
              ElementsAre(HasSubstr("Connection refused"), HasSubstr("nonsense")));
}

TEST(LaunchTcp, TakenPortIsRefused) {
  const Result<OpenPort> opened = open_port("127.0.0.1", 0);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  EXPECT_THAT(open_port("127.0.0.1", opened->port).status().cause(),
              HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace stretto::launch
