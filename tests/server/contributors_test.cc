// SPDX-License-Identifier: Apache-2.0
// Who makes rounds: found by node, listed by rank.
#include "server/aggregation/contributors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Contributors, AreListedByRankAndFoundByNode) {
  const Contributors some({{40, 2}, {99, 0}, {7, 1}});
  EXPECT_THAT(some.all(), ElementsAre(Contributor{99, 0}, Contributor{7, 1}, Contributor{40, 2}));
  EXPECT_EQ(some.find(99), 0U);
  EXPECT_EQ(some.find(40), 2U);
  EXPECT_EQ(some.find(8), std::nullopt);
  EXPECT_FALSE(some.contains(0));
  EXPECT_THAT(some.ranks_of({40, 8, 99}), ElementsAre(2, 0));
}

TEST(Contributors, RanksMayHaveGaps) {
  const Contributors some({{40, 2}, {99, 0}});
  EXPECT_TRUE(some.has_rank(2));
  EXPECT_FALSE(some.has_rank(1));
  EXPECT_FALSE(some.has_rank(1ULL << 32 | 2));
}

TEST(ContributorsDeathTest, ANodeHasOneRankAndARankOneNode) {
  EXPECT_DEATH(Contributors({{7, 0}, {7, 1}}), "same_node");
  EXPECT_DEATH(Contributors({{7, 0}, {8, 0}}), "rank");
}

TEST(Sources, AreAGroupsOrOneWorkers) {
  const Sources all(make_group({{7, 1}, {9, 0}}));
  EXPECT_EQ(all.size(), 2U);
  EXPECT_TRUE(all.contains(7));
  EXPECT_FALSE(all.contains(0));
  EXPECT_THAT(all.nodes(), ElementsAre(9, 7));
  const Sources one(7);
  EXPECT_EQ(one.size(), 1U);
  EXPECT_TRUE(one.contains(7));
  EXPECT_FALSE(one.contains(9));
  EXPECT_THAT(one.nodes(), ElementsAre(7));
  EXPECT_EQ(Sources().size(), 0U);
  EXPECT_FALSE(Sources().contains(0));
  EXPECT_THAT(Sources().nodes(), IsEmpty());
}

}  // namespace
}  // namespace stretto
