// SPDX-License-Identifier: Apache-2.0
// Critical paths of one part that can be calculated by hand.
#include "collective/critical_path.h"

#include <gtest/gtest.h>

#include "tests/collective/hosts.h"

namespace stretto::collective {
namespace {

CriticalPath path(const std::vector<Place>& parents, double bytes, const Network& network) {
  return path_of(*Tree::of(parents), bytes, network, BoundaryMap(network.boundaries));
}

TEST(CriticalPath, AChainTakesAllHopsTwice) {
  Network network = hosts_of({10, 10, 10});
  network.start_seconds = 1;
  const CriticalPath made = path({0, 0, 1}, 20, network);
  EXPECT_DOUBLE_EQ(made.seconds, 4 * (1 + 2));
  EXPECT_EQ(made.hops, 4U);
}

TEST(CriticalPath, AStarsLinkTakesOneAfterTheOther) {
  Network network = hosts_of({10, 10, 10, 10});
  network.start_seconds = 1;
  const CriticalPath made = path({0, 0, 0, 0}, 20, network);
  EXPECT_DOUBLE_EQ(made.seconds, 2 * (3 * 2 + 1));
  EXPECT_EQ(made.hops, 2U);
}

/// While a slow host sends, the root's link has time for the other members.
TEST(CriticalPath, SlowMemberDelaysNoOtherMember) {
  EXPECT_DOUBLE_EQ(path({0, 0, 0}, 20, hosts_of({10, 10, 1})).seconds, 20 + 20);
}

/// Tree 3 -> 2 -> 0, 1 -> 0: 1's frame arrives while 3's is in transit; the root answers 2 first.
TEST(CriticalPath, OfUnlikeBranchesTheLongOneGoesFirst) {
  EXPECT_DOUBLE_EQ(path({0, 0, 0, 2}, 10, hosts_of({10, 10, 10, 10})).seconds, 2 + 2);
}

TEST(CriticalPath, WithinAHostOnlyProcessorsTakeTime) {
  Network network;
  network.boundaries.push_back({.name = "host", .inside = {0, 1}, .rate = 10});
  network.start_seconds = 1;
  EXPECT_EQ(path({0, 0}, 20, network).seconds, 0);
  EXPECT_EQ(path({0, 0}, 20, network).hops, 0U);
  network.frame_seconds = 3;
  network.byte_seconds = 0.5;
  network.processors = 2;
  EXPECT_DOUBLE_EQ(path({0, 0}, 20, network).seconds, 4 * (3 + 20 * 0.5) / 2);
}

TEST(CriticalPath, OneAloneTakesNoTime) { EXPECT_EQ(path({0}, 20, hosts_of({10})).seconds, 0); }

}  // namespace
}  // namespace stretto::collective
