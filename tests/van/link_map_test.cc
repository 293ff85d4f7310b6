// SPDX-License-Identifier: Apache-2.0
// Lookups of links, including repeated lookups of the last one.
#include "van/queue/link_map.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(LinkMap, FindsAddedValues) {
  LinkMap<int> table;
  EXPECT_EQ(table.find(1), nullptr);
  table.add(1, 10);
  table.add(2, 20);
  EXPECT_EQ(table.at(1), 10);
  EXPECT_EQ(table.at(2), 20);
  table.add(2, 30);
  EXPECT_EQ(table.at(2), 20) << "there was one";
}

// An unknown link yields 0, not the last result.
TEST(LinkMap, ZeroIsNoLink) {
  LinkMap<int> table;
  EXPECT_EQ(table.find(0), nullptr);
  table.add(1, 10);
  EXPECT_EQ(table.at(1), 10);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.at(1), 10);
  table.add(2, 20);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.at(1), 10);
  table.remove(1);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(1), nullptr);
}

}  // namespace
}  // namespace stretto
