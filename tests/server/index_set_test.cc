// SPDX-License-Identifier: Apache-2.0
// Workers in a set: once each, and of more than one word.
#include "server/index_set.h"

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

}  // namespace
}  // namespace stretto
