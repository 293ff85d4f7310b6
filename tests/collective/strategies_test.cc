// SPDX-License-Identifier: Apache-2.0
// The primitives carry as many bytes, in as many steps, as the textbook says.
#include "collective/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "collective/cost_model.h"

namespace stretto::collective {
namespace {

using testing::Each;
using testing::HasSubstr;

Places first(Place count) {
  Places places(count);
  std::iota(places.begin(), places.end(), Place{0});
  return places;
}

/// Bytes of each member in each direction, in units of `bytes / members`, if all divides evenly.
std::vector<double> shares_each_way(const Strategy& strategy, std::uint32_t members) {
  const std::vector<std::uint64_t> parts(std::size_t{240} * members, 1000);
  std::vector<double> shares;
  for (const Carried& carried : carried_in(strategy, parts)) {
    shares.push_back(static_cast<double>(carried.bytes) / (1000.0 * 240 * members));
  }
  return shares;
}

std::uint32_t depth_of(const Strategy& strategy) {
  std::uint32_t depth = 0;
  for (const RootClass& one : strategy.classes()) depth = std::max(depth, one.tree.depth());
  return depth;
}

TEST(Strategies, DirectRingAndHalvingCarryTheLeastBytes) {
  for (const std::uint32_t members : {2U, 4U, 8U, 16U}) {
    const double least = 2.0 * (members - 1) / members;
    const Strategy all[] = {*direct(first(members)), *ring(first(members)),
                            *halving_doubling(first(members))};
    for (const Strategy& strategy : all) {
      EXPECT_THAT(shares_each_way(strategy, members), Each(testing::DoubleNear(least, 1e-12)))
          << strategy.describe();
    }
    EXPECT_EQ(depth_of(all[0]), 1U);
    EXPECT_EQ(depth_of(all[1]), members - 1);
    EXPECT_EQ(depth_of(all[2]), static_cast<std::uint32_t>(std::countr_zero(members)));
  }
}

TEST(Strategies, HalvingOfSixHasACoreOfFour) {
  const Strategy strategy = *halving_doubling({5, 3, 1, 0, 2, 4});
  EXPECT_EQ(strategy.classes().size(), 4U);
  const std::vector<double> shares = shares_each_way(strategy, 6);
  EXPECT_NEAR(shares[4], 1, 1e-9) << "who hangs on the core carries its own alone";
  EXPECT_NEAR(shares[2], 1, 1e-9);
  EXPECT_NEAR(shares[5], 1.5 + 1, 1e-9) << "2 and 4 hang on 5 and 3";
  EXPECT_NEAR(shares[0], 1.5, 1e-9);
}

TEST(Strategies, DirectCarriesBytesByOwnership) {
  const std::vector<double> owned = {0.5, 0.25, 0.25, 0};
  const std::vector<double> shares = shares_each_way(*direct(first(4), owned), 4);
  for (std::size_t at = 0; at < 4; ++at) EXPECT_NEAR(shares[at], 1 + 2 * owned[at], 1e-9);
}

TEST(Strategies, BinaryTreesCarryThreeAtMostAndTurned2) {
  const std::vector<double> one = shares_each_way(*binary_trees(first(7), 1), 7);
  EXPECT_DOUBLE_EQ(*std::ranges::max_element(one), 3);
  EXPECT_DOUBLE_EQ(*std::ranges::min_element(one), 1);
  EXPECT_EQ(depth_of(*binary_trees(first(7), 1)), 2U);
  EXPECT_THAT(shares_each_way(*binary_trees(first(7), 7), 7),
              Each(testing::DoubleNear(2.0 * 6 / 7, 1e-9)));
}

TEST(Strategies, GroupsSendTheirSumOnce) {
  // Four hosts of 3, 1, 2 and 2 workers.
  const std::vector<Places> hosts = {{0, 4, 5}, {1}, {2, 6}, {3, 7}};
  for (const Strategy& among : {*direct(first(4)), *ring(first(4)), *halving_doubling(first(4))}) {
    const Strategy strategy = *hierarchical(hosts, among);
    Network network;
    for (const Places& host : hosts) {
      network.boundaries.push_back({.name = "host", .inside = host, .rate = 1});
    }
    const std::vector<std::uint64_t> parts(240, 1000);
    for (const Carried& crossing : CostModel::of(network)->crossings(strategy, parts)) {
      EXPECT_NEAR(static_cast<double>(crossing.bytes) / 240e3, 1.5, 0.01) << among.describe();
    }
  }
}

TEST(Strategies, OfOneServerAllBytesAreItsOwn) {
  const std::vector<double> shares = shares_each_way(*one_server(first(4), 4), 4);
  EXPECT_DOUBLE_EQ(shares[4], 4);
  EXPECT_DOUBLE_EQ(shares[0], 1);
}

TEST(Strategies, OfOneMemberCarryNothing) {
  for (const Strategy& strategy : {*direct({3}), *ring({3}), *halving_doubling({3}),
                                   *binary_trees({3}, 1), *hierarchical({{3}}, *direct({0}))}) {
    for (const Carried& carried : carried_in(strategy, {1000})) EXPECT_EQ(carried, Carried());
  }
}

TEST(Strategies, RejectsInvalidMembersAndGroups) {
  EXPECT_THAT(ring({}).status().text(), HasSubstr("there are no members"));
  EXPECT_THAT(direct({1, 0, 1}).status().text(), HasSubstr("member 1 is named twice"));
  EXPECT_THAT(halving_doubling({1024}).status().text(), HasSubstr("member 1024"));
  EXPECT_THAT(direct({0, 1}, {1}).status().text(), HasSubstr("1 proportions for 2 members"));
  EXPECT_THAT(binary_trees({0, 1}, 3).status().text(), HasSubstr("3 trees over 2 members"));
  EXPECT_THAT(hierarchical({{0}, {}}, *direct({0, 1})).status().text(),
              HasSubstr("a group is empty"));
  EXPECT_THAT(hierarchical({{0}, {1}}, *direct({0, 2})).status().text(),
              HasSubstr("2 groups, and one among 2 of 3"));
}

}  // namespace
}  // namespace stretto::collective
