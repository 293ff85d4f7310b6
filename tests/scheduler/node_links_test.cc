// SPDX-License-Identifier: Apache-2.0
// Lookups of nodes by link, and detection of silent nodes.
#include "scheduler/sessions/node_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(NodeLinks, FindsNodesAndLinksUntilTheyEnd) {
  NodeLinks links;
  links.add(2, 70, Time(1s));
  links.add(3, 71, Time(1s));
  EXPECT_EQ(links.of(3), 71U);
  EXPECT_EQ(links.heard(70, Time(2s)), 2U);
  EXPECT_EQ(links.heard(99, Time(2s)), 0U);
  EXPECT_EQ(links.remove(70), 2U);
  EXPECT_EQ(links.remove(70), 0U);
  EXPECT_EQ(links.of(2), 0U);
  EXPECT_THAT(links.all(), testing::ElementsAre(71));
}

TEST(NodeLinks, ReportsNodesSilentBeyondLimit) {
  NodeLinks links;
  links.add(2, 70, Time(1s));
  links.add(3, 71, Time(1s));
  links.heard(71, Time(3s));
  EXPECT_TRUE(links.silent(Time(3s), 2s).empty());
  const auto silent = links.silent(Time(4s), 2s);
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, 2U);
  EXPECT_EQ(silent[0].lasts, 3s);
  links.forgive(Time(4s));
  EXPECT_TRUE(links.silent(Time(6s), 2s).empty());
}

}  // namespace
}  // namespace stretto
