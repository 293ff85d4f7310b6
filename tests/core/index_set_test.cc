// SPDX-License-Identifier: Apache-2.0
// Workers in a set: once each, and of more than one word.
#include "core/index_set.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(IndexSet, AWorkerThatComesTwiceIsInItOnce) {
  IndexSet set(3);
  EXPECT_TRUE(set.insert(2));
  EXPECT_FALSE(set.insert(2));
  EXPECT_EQ(set.size(), 1U);
  EXPECT_TRUE(set.contains(2));
  EXPECT_FALSE(set.contains(0));
  set.clear();
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(2));
}

TEST(IndexSet, HoldsMoreThanAWordOfIndices) {
  IndexSet set(130);
  for (std::uint32_t index = 0; index < 130; ++index) EXPECT_TRUE(set.insert(index));
  EXPECT_TRUE(set.full());
  IndexSet others(130);
  others.insert(0);
  EXPECT_EQ(set.first_beyond(others), 1);
  for (std::uint32_t index = 1; index < 129; ++index) others.insert(index);
  EXPECT_EQ(set.first_beyond(others), 129);
  EXPECT_EQ(others.first_beyond(set), -1);
  EXPECT_NE(set, others);
}

TEST(IndexSet, ComputesOverlapContainmentAndUnion) {
  IndexSet even(130);
  IndexSet low(130);
  for (std::uint32_t index = 0; index < 130; index += 2) even.insert(index);
  for (std::uint32_t index = 0; index < 4; ++index) low.insert(index);
  EXPECT_TRUE(even.intersects(low));
  EXPECT_FALSE(even.contains_all(low));
  IndexSet last(130);
  last.insert(129);
  EXPECT_FALSE(even.intersects(last));
  even.insert_all(low);
  even.insert_all(last);
  EXPECT_TRUE(even.contains_all(low));
  EXPECT_TRUE(even.contains_all(last));
  EXPECT_EQ(even.size(), 65U + 2 + 1);
  EXPECT_EQ(low.members(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace stretto
