// SPDX-License-Identifier: Apache-2.0
// What others are told: the configured host before the one that is found out.
#include "common/advertised.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Advertised, IsWhatIsBoundUnlessThatIsEveryAddress) {
  Config config;
  config.scheduler = "127.0.0.1:9000";
  EXPECT_EQ(*advertised_host(config), "") << "127.0.0.1 is bound";
  config.bind_host = "0.0.0.0";
  EXPECT_EQ(*advertised_host(config), "127.0.0.1") << "the address towards the scheduler";
  config.node_host = "10.0.0.7";
  EXPECT_EQ(*advertised_host(config), "10.0.0.7");
}

TEST(Advertised, ASchedulerThatIsNoAddressIsNamed) {
  Config config;
  config.bind_host = "0.0.0.0";
  config.scheduler = "nowhere";
  EXPECT_FALSE(advertised_host(config).ok());
}

}  // namespace
}  // namespace stretto
