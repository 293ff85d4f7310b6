// SPDX-License-Identifier: Apache-2.0
// What others are told: the configured host before the one that is found out.
#include "common/config/advertised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Advertised, UsesBoundHostUnlessWildcard) {
  Config config;
  config.scheduler = "127.0.0.1:9000";
  EXPECT_EQ(*advertised_host(config), "") << "127.0.0.1 is bound";
  config.bind_host = "0.0.0.0";
  EXPECT_EQ(*advertised_host(config), "127.0.0.1") << "the address towards the scheduler";
  config.node_host = "10.0.0.7";
  EXPECT_EQ(*advertised_host(config), "10.0.0.7");
}

TEST(Advertised, Ipv6AddressNeedsASocketOfIpv6) {
  Config config;
  config.bind_host = "0.0.0.0";
  config.node_host = "fd00::7";
  EXPECT_THAT(advertised_host(config).status().cause(), testing::HasSubstr("set it to ::"));
  config.bind_host = "::";
  EXPECT_EQ(*advertised_host(config), "fd00::7");
}

TEST(Advertised, ASchedulerThatIsNoAddressIsNamed) {
  Config config;
  config.bind_host = "0.0.0.0";
  config.scheduler = "nowhere";
  EXPECT_FALSE(advertised_host(config).ok());
}

}  // namespace
}  // namespace stretto
