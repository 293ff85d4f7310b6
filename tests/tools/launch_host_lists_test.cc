// SPDX-License-Identifier: Apache-2.0
// Addresses of IPv6 in lists of hosts.
#include <gtest/gtest.h>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/hostfile.h"
#include "tools/launch/plan/start_methods.h"

namespace stretto::launch {
namespace {

using Hosts = std::vector<HostSlots>;

TEST(LaunchHostLists, BracketsEncloseAddress) {
  EXPECT_EQ(*parse_host_list("[fd00::9]:2,me@[fd00::9]:3,me@[fd00::9],me@a:4"),
            (Hosts{{"fd00::9", 2}, {"me@fd00::9", 3}, {"me@fd00::9", 1}, {"me@a", 4}}));
  EXPECT_EQ(*parse_process_hosts("me@[fd00::9]:22\n", "f"), (Hosts{{"me@fd00::9", 1}}));
}

TEST(LaunchHostLists, AddressThatMayEndInSlotsIsRefused) {
  EXPECT_EQ(parse_host_list("fd00::7:2").status().cause(),
            "host 'fd00::7:2' can be read in two ways; with brackets it is [fd00::7:2], or "
            "[fd00::7]:2 for 2 slots");
  EXPECT_FALSE(parse_host_list("me@fd00::7:2").ok());
  EXPECT_FALSE(parse_hostfile("fd00::7:2\n", "f").ok());
  EXPECT_EQ(*parse_hostfile("fd00::7:2 slots=4\n", "f"), (Hosts{{"fd00::7:2", 4}}));
  EXPECT_EQ(*parse_host_list("fd00::7,::1,2001:db8:0:0:0:0:0:1"),
            (Hosts{{"fd00::7", 1}, {"::1", 1}, {"2001:db8:0:0:0:0:0:1", 1}}));
}

TEST(LaunchHostLists, MpirunTakesNoAddressOfIpv6) {
  const std::vector<std::string> words{"--via=mpi", "-H", "a:1,[fd00::9]:2", "x"};
  const auto plan = parse_arguments(words, nullptr);
  const auto is_here = [](const std::string&) { return false; };
  EXPECT_EQ(check_flags(*plan, StartMethod::kMpi, is_here).cause(),
            "host 'fd00::9' is an address of IPv6, which a list of hosts for mpirun cannot hold; "
            "give a name of that host, or --via ssh");
  EXPECT_TRUE(check_flags(*plan, StartMethod::kSsh, is_here).ok());
}

}  // namespace
}  // namespace stretto::launch
