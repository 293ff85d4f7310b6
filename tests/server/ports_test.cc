// SPDX-License-Identifier: Apache-2.0
// Fixed ports: each shard of each server has one, and what is no port is refused.
#include "server/ports.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

Result<std::uint32_t> first(const char* value) {
  return first_server_port(overlay({{"STRETTO_SERVER_PORT", value}}, [](const std::string&) {
    return std::optional<std::string>();
  }));
}

TEST(Ports, AreCountedOnFromTheFirst) {
  Config config;
  config.rank = 2;
  config.shards = 2;
  EXPECT_EQ(*shard_address(config, 0, 1), "127.0.0.1:0") << "any";
  EXPECT_EQ(*shard_address(config, 9701, 1), "127.0.0.1:9706");
  config.rank = -1;
  EXPECT_EQ(*shard_address(config, 9701, 1), "127.0.0.1:9702");
  EXPECT_EQ(*shard_address(config, 65534, 1), "127.0.0.1:65535");
  EXPECT_EQ(shard_address(config, 65535, 1).status().cause(),
            "STRETTO_SERVER_PORT is 65535: port 65536 for shard 1 of server 0 does not exist; "
            "choose a lower one");
}

TEST(Ports, TheFirstIsANumber) {
  EXPECT_EQ(*first("9701"), 9701U);
  EXPECT_EQ(*first("0"), 0U);
  for (const char* wrong : {"x", "-1", "65536", "97 "}) {
    EXPECT_EQ(first(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
  const Environment none = [](const std::string&) { return std::optional<std::string>(); };
  EXPECT_EQ(*first_server_port(none), 0U);
}

}  // namespace
}  // namespace stretto
