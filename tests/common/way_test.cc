// SPDX-License-Identifier: Apache-2.0
// By which interface traffic leaves, and whether control goes by a slower one than data.
#include "common/way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Way, ToThisHostIsItsLoopback) {
  EXPECT_EQ(way_towards("127.0.0.1:7000"), (Way{.interface = "lo"}));
}

TEST(Way, OfWhatIsNoNumberIsNotKnown) {
  for (const char* address : {"host:7000", "localhost:7000", "127.0.0.1", "", "300.1.1.1:1"}) {
    EXPECT_EQ(way_towards(address), Way()) << address;
  }
}

TEST(Way, ARateIsWhatTheSystemSays) {
  EXPECT_EQ(rate_in("1000"), 1000U);
  EXPECT_EQ(rate_in("400000\n"), 400'000U);
  for (const char* none : {"", "-1", "0", "fast", "99999999999999999999"}) {
    EXPECT_EQ(rate_in(none), 0U) << none;
  }
}

TEST(Way, ControlBySlowerThanDataIsNamedWithBothRates) {
  const std::array<Way, 2> data = {Way{"eth1", 25'000}, Way{"eth2", 10'000}};
  EXPECT_THAT(slower_control({"eth0", 1000}, data),
              AllOf(HasSubstr("interface eth0 (1000 Mbit/s)"), HasSubstr("eth1 (25000 Mbit/s)"),
                    HasSubstr("--interface eth1")));
  EXPECT_EQ(slower_control({"eth1", 25'000}, data), "");
  EXPECT_EQ(slower_control({"eth3", 40'000}, data), "");
}

TEST(Way, WhatIsNotKnownIsNotJudged) {
  const std::array<Way, 1> data = {Way{"eth1", 25'000}};
  const std::array<Way, 1> unknown = {Way{"veth", 0}};
  EXPECT_EQ(slower_control({"lo", 0}, data), "");
  EXPECT_EQ(slower_control({"eth0", 1000}, unknown), "");
  EXPECT_EQ(slower_control({"eth0", 1000}, {}), "");
}

}  // namespace
}  // namespace stretto
