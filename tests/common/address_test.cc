// SPDX-License-Identifier: Apache-2.0
// Addresses with ways: what is carried through, what is passed over, what is refused.
#include "common/network/address.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Address, HostPortIsFirstComponent) {
  EXPECT_EQ(host_port_of("10.0.0.7:4567"), "10.0.0.7:4567");
  EXPECT_EQ(host_port_of("10.0.0.7:4567;shm=x;fabric=y"), "10.0.0.7:4567");
  EXPECT_EQ(host_port_of(";shm=x"), "");
  EXPECT_EQ(host_port_of(""), "");
}

TEST(Address, WaysAreFoundByTheirNames) {
  const std::string address = with_way(with_way("a:1", "shm", "x_-9"), "fabric", "tcp=1:2");
  EXPECT_EQ(address, "a:1;shm=x_-9;fabric=tcp=1:2");
  EXPECT_EQ(way_in(address, "shm"), "x_-9");
  EXPECT_EQ(way_in(address, "fabric"), "tcp=1:2");
  EXPECT_EQ(way_in(address, "sh"), "");
  EXPECT_EQ(way_in(address, "shm="), "");
  EXPECT_EQ(way_in("a:1", "shm"), "");
  EXPECT_EQ(way_in("shm=x", "shm"), "");
  for (const char* text : {"a:1;", "a:1;;", "a:1;shm", "a:1;shm=", "a:1;=x", ";", ""}) {
    EXPECT_EQ(way_in(text, "shm"), "") << text;
  }
  EXPECT_EQ(way_in("a:1;;x;shm=1;shm=2", "shm"), "1");
}

TEST(Address, AnotherHostKeepsPortAndWays) {
  EXPECT_EQ(*with_host("0.0.0.0:4567", "node7"), "node7:4567");
  EXPECT_EQ(*with_host("0.0.0.0:4567;shm=x", "10.0.0.7"), "10.0.0.7:4567;shm=x");
  EXPECT_FALSE(with_host("nowhere;shm=x", "10.0.0.7").ok());
}

TEST(Address, RejectsInvalidOrOverlongAddress) {
  EXPECT_TRUE(check_address("127.0.0.1:1").ok());
  EXPECT_TRUE(check_address("127.0.0.1:1;shm=x;unknown=y").ok());
  EXPECT_TRUE(check_address("127.0.0.1:1;" + std::string(kMaxAddressLength - 12, 'x')).ok());
  EXPECT_FALSE(check_address("127.0.0.1:1;" + std::string(kMaxAddressLength - 11, 'x')).ok());
  for (const char* text : {"", "nowhere", ";shm=x", "127.0.0.1;shm=x:1", "a:1;\n", "a:1;\xff"}) {
    EXPECT_FALSE(check_address(text).ok()) << text;
  }
}

}  // namespace
}  // namespace stretto
