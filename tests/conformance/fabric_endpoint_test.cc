// SPDX-License-Identifier: Apache-2.0
// What a far end may call itself: its name goes to the provider, which believes its length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "van/fabric/endpoint.h"

namespace stretto::fabric {
namespace {

TEST(FabricEndpoint, KnowsOthersByTheirNamesAndByNothingElse) {
  const auto near = FabricEndpoint::open("tcp;ofi_rxm", "127.0.0.1");
  ASSERT_TRUE(near.ok()) << near.status().text();
  const auto far = FabricEndpoint::open("tcp;ofi_rxm", "127.0.0.1");
  ASSERT_TRUE(far.ok()) << far.status().text();
  const std::string name = (*far)->name();
  EXPECT_TRUE((*near)->insert(name).ok());
  std::string other_family = name;
  other_family.front() = static_cast<char>(other_family.front() + 1);
  for (const std::string& wrong : {std::string(), name.substr(1), name + "x", other_family}) {
    const Status status = (*near)->insert(wrong).status();
    EXPECT_EQ(status.code(), Code::kMalformed);
    EXPECT_THAT(status.cause(), testing::HasSubstr("no name of an endpoint"));
  }
}

}  // namespace
}  // namespace stretto::fabric
