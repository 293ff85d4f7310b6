// SPDX-License-Identifier: Apache-2.0
// The order in which each member sends to its peers.
#include "collective/send_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "collective/strategies.h"

namespace stretto::collective {
namespace {

using testing::ElementsAre;

// If all members have equally many parts, no two send to the same root at the same time.
TEST(Turns, OfDirectAreShifts) {
  constexpr std::uint32_t kMembers = 5;
  const Strategy strategy = direct({0, 1, 2, 3, 4}).or_exit();
  std::vector<std::vector<Place>> sent_to(kMembers);  // By sender, in its send order.
  for (Place self = 0; self < kMembers; ++self) {
    std::vector<Place> parents;
    for (std::uint32_t part = 0; part < 2 * kMembers; ++part) {
      parents.push_back(strategy.classes()[part % kMembers].tree.node(self).parent);
    }
    for (const std::uint32_t part : turns_of(self, kMembers, parents)) {
      if (parents[part] != kNobody) sent_to[self].push_back(parents[part]);
    }
    ASSERT_EQ(sent_to[self].size(), 2 * (kMembers - 1));
  }
  for (std::size_t turn = 0; turn < sent_to.front().size(); ++turn) {
    std::set<Place> roots;
    for (Place self = 0; self < kMembers; ++self) roots.insert(sent_to[self][turn]);
    EXPECT_EQ(roots.size(), kMembers) << "in turn " << turn;
  }
}

TEST(Turns, KeepTheOrderOfBlocks) {
  EXPECT_THAT(turns_of(1, 3, {0, kNobody, 2, 0, kNobody, 2, 0}), ElementsAre(1, 2, 0, 4, 5, 3, 6));
  EXPECT_THAT(turns_of(0, 3, {}), ElementsAre());
}

TEST(Turns, SendsValuesFirstToNextPlace) {
  const Strategy strategy = direct({0, 1, 2, 3}).or_exit();
  EXPECT_THAT(children_in_turn(strategy.classes()[2].tree.node(2)), ElementsAre(3, 0, 1));
  EXPECT_THAT(children_in_turn(strategy.classes()[0].tree.node(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(children_in_turn(strategy.classes()[3].tree.node(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(children_in_turn(strategy.classes()[3].tree.node(0)), ElementsAre());
}

}  // namespace
}  // namespace stretto::collective
