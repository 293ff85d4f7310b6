// SPDX-License-Identifier: Apache-2.0
// Workers in a set: once each, and of more than one word.
#include "server/rank_set.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(RankSet, AWorkerThatComesTwiceIsInItOnce) {
  RankSet set(3);
  EXPECT_TRUE(set.insert(2));
  EXPECT_FALSE(set.insert(2));
  EXPECT_EQ(set.size(), 1U);
  EXPECT_TRUE(set.contains(2));
  EXPECT_FALSE(set.contains(0));
  set.clear();
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(2));
}

TEST(RankSet, HoldsMoreThanAWordOfRanks) {
  RankSet set(130);
  for (Rank rank = 0; rank < 130; ++rank) EXPECT_TRUE(set.insert(rank));
  EXPECT_TRUE(set.full());
  RankSet others(130);
  others.insert(0);
  EXPECT_EQ(set.first_beyond(others), 1);
  for (Rank rank = 1; rank < 129; ++rank) others.insert(rank);
  EXPECT_EQ(set.first_beyond(others), 129);
  EXPECT_EQ(others.first_beyond(set), -1);
  EXPECT_NE(set, others);
}

}  // namespace
}  // namespace stretto
