// SPDX-License-Identifier: Apache-2.0
// What the kernel says of this host, and the words when it says no.
#include "common/network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Network, TrafficToThisHostCarriesItsLoopbackAddress) {
  const Result<std::string> address = address_towards("127.0.0.1", 9000);
  ASSERT_TRUE(address.ok()) << address.status().text();
  EXPECT_EQ(*address, "127.0.0.1");
  EXPECT_EQ(interface_of(*address), 1U) << "lo is the first of all";
  EXPECT_EQ(interface_of("192.0.2.1"), 0U);
  EXPECT_EQ(*address_towards("localhost", 9000), "127.0.0.1");
}

TEST(Network, AHostThatCannotBeResolvedIsNamed) {
  const Status status = address_towards("no-such-host.invalid", 9000).status();
  EXPECT_EQ(status.code(), Code::kNetwork);
  EXPECT_THAT(status.cause(), HasSubstr("'no-such-host.invalid' cannot be resolved"));
}

TEST(Network, EveryInterfaceIsToldAsOneThatOthersCanReach) {
  EXPECT_EQ(reachable_address("10.0.0.7:90"), "10.0.0.7:90");
  const std::string reachable = reachable_address("0.0.0.0:90");
  EXPECT_EQ(reachable.find("0.0.0.0"), std::string::npos);
  EXPECT_TRUE(reachable.ends_with(":90"));
  EXPECT_TRUE(is_own_host(reachable));
}

TEST(Network, AddressesOfThisHostAreKnown) {
  EXPECT_TRUE(is_own_host("localhost:90"));
  EXPECT_TRUE(is_own_host("127.0.0.9:90"));
  EXPECT_TRUE(is_own_host("127.0.0.1"));
  EXPECT_TRUE(is_own_host("[0:0:0:0:0:0:0:1]:90"));
  EXPECT_FALSE(is_own_host("192.0.2.1:90"));
  EXPECT_FALSE(is_own_host("no-such-host.invalid:90"));
}

TEST(Network, ListenErrorNamesAddressAndRemedy) {
  EXPECT_THAT(listening_failure("192.0.2.1", 9000).cause(),
              AllOf(HasSubstr("wanted to listen at 192.0.2.1:9000: "),
                    HasSubstr("give an address or an interface of this host")));
  EXPECT_THAT(listening_failure("no-such-host.invalid", 9000).cause(),
              HasSubstr("give an address of this host"));
  EXPECT_FALSE(listening_failure("127.0.0.1", 0).ok()) << "there is a free port, but none was got";
}

TEST(Network, RaisesFileLimitToSystemMaximum) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_TRUE(raise_file_limit(65).ok());
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Network, ALimitThatIsTooLowIsToldWithNeedAndHave) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::uint64_t needed = limit.rlim_max + 1;  // 0 if there is no limit: always enough.
  const Status status = raise_file_limit(needed);
  if (needed == 0) {
    EXPECT_TRUE(status.ok());
  } else {
    EXPECT_EQ(status.code(), Code::kResource);
    EXPECT_THAT(status.cause(), AllOf(HasSubstr("needs " + std::to_string(needed)),
                                      HasSubstr("may open " + std::to_string(limit.rlim_max))));
  }
}

}  // namespace
}  // namespace stretto
