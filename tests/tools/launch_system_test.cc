// SPDX-License-Identifier: Apache-2.0
// What the launcher asks of the operating system.
#include <gtest/gtest.h>

#include "tools/launch/process/system.h"

namespace stretto::launch {
namespace {

TEST(LaunchSystem, NameOfThisHostMayNeedResolver) {
  const std::string loopback = "2130706433";  // 127.0.0.1, as only the resolver reads it.
  EXPECT_FALSE(is_this_host(loopback));
  EXPECT_TRUE(resolves_to_this_host(loopback));
  EXPECT_TRUE(resolves_to_this_host(host_name()));
  EXPECT_FALSE(resolves_to_this_host("192.0.2.7"));
  EXPECT_FALSE(resolves_to_this_host("no-such-host.invalid"));
}

}  // namespace
}  // namespace stretto::launch
