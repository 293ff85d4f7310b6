// SPDX-License-Identifier: Apache-2.0
// By which interface traffic leaves, and whether control goes by a slower one than data.
#include "common/network/network_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(NetworkInterface, ToThisHostIsItsLoopback) {
  EXPECT_EQ(interface_towards("127.0.0.1:7000"), (NetworkInterface{.name = "lo"}));
}

TEST(NetworkInterface, AddressWithoutNumericHostPortIsUnknown) {
  for (const char* address : {"host:7000", "localhost:7000", "127.0.0.1", "", "300.1.1.1:1"}) {
    EXPECT_EQ(interface_towards(address), NetworkInterface()) << address;
  }
}

TEST(NetworkInterface, ParsesInterfaceRate) {
  EXPECT_EQ(rate_in("1000"), 1000U);
  EXPECT_EQ(rate_in("400000\n"), 400'000U);
  for (const char* none : {"", "-1", "0", "fast", "99999999999999999999"}) {
    EXPECT_EQ(rate_in(none), 0U) << none;
  }
}

TEST(NetworkInterface, ControlBySlowerThanDataIsNamedWithBothRates) {
  const std::array<NetworkInterface, 2> data = {NetworkInterface{"eth1", 25'000},
                                                NetworkInterface{"eth2", 10'000}};
  EXPECT_THAT(slower_control({"eth0", 1000}, data),
              AllOf(HasSubstr("interface eth0 (1000 Mbit/s)"), HasSubstr("eth1 (25000 Mbit/s)"),
                    HasSubstr("--interface eth1")));
  EXPECT_EQ(slower_control({"eth1", 25'000}, data), "");
  EXPECT_EQ(slower_control({"eth3", 40'000}, data), "");
}

TEST(NetworkInterface, UnknownRatesAreNotCompared) {
  const std::array<NetworkInterface, 1> data = {NetworkInterface{"eth1", 25'000}};
  const std::array<NetworkInterface, 1> unknown = {NetworkInterface{"veth", 0}};
  EXPECT_EQ(slower_control({"lo", 0}, data), "");
  EXPECT_EQ(slower_control({"eth0", 1000}, unknown), "");
  EXPECT_EQ(slower_control({"eth0", 1000}, {}), "");
}

}  // namespace
}  // namespace stretto
