// SPDX-License-Identifier: Apache-2.0
// Which parent vectors are trees, and which relatives each place has.
#include "collective/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace stretto::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Parents = std::vector<Place>;

std::string tree_refusal(Parents parents, const std::vector<Place>& relays = {}) {
  return Tree::of(std::move(parents), relays).status().text();
}

/// Cayley: there are n^(n-1) rooted trees over n places, of n^n vectors of parents.
TEST(Tree, TakesEveryRootedTreeAndNothingElse) {
  const std::uint64_t trees[] = {1, 2, 9, 64, 625};
  for (std::uint32_t places = 1; places <= 5; ++places) {
    Parents parents(places, 0);
    std::uint64_t taken = 0;
    for (bool more = true; more;) {
      taken += Tree::of(parents).ok() ? 1 : 0;
      std::size_t at = 0;
      while (at < places && ++parents[at] == places) parents[at++] = 0;
      more = at < places;
    }
    EXPECT_EQ(taken, trees[places - 1]) << places << " places";
  }
}

TEST(Tree, RejectsInvalidTree) {
  EXPECT_THAT(tree_refusal({}), HasSubstr("nobody is the root"));
  EXPECT_THAT(tree_refusal({1, 0}), HasSubstr("nobody is the root"));
  EXPECT_THAT(tree_refusal({0, 1}), HasSubstr("places 0 and 1 are roots"));
  EXPECT_THAT(tree_refusal({0, 7}), HasSubstr("place 1 sends to 7"));
  EXPECT_THAT(tree_refusal({0, 2, kNobody}), HasSubstr("place 1 sends to 2"));
  EXPECT_THAT(tree_refusal({0, 2, 1}), HasSubstr("place 1 does not lead to the root, 0"));
  EXPECT_THAT(tree_refusal({0, 0, 0}, {2}), HasSubstr("nobody contributes below relay 2"));
  EXPECT_THAT(tree_refusal({0}, {0}), HasSubstr("nobody contributes below relay 0"));
  EXPECT_THAT(tree_refusal(Parents(kMostPlaces + 1, 0)), HasSubstr("1025 places, at most 1024"));
}

TEST(Tree, NodeKnowsItsDescendants) {
  // 3 has 1 and 5; 1, a relay, has 0 and 2; 5 has 6. 4 is not in the tree.
  const Tree tree = *Tree::of({1, 3, 1, 3, kNobody, 3, 5}, {1});
  EXPECT_EQ(tree.root(), 3U);
  EXPECT_EQ(tree.size(), 6U);
  EXPECT_EQ(tree.depth(), 2U);
  EXPECT_THAT(tree.contributors().members(), ElementsAre(0, 2, 3, 5, 6));
  const TreeNode root = tree.node(3);
  EXPECT_TRUE(root.is_root());
  EXPECT_THAT(root.children, ElementsAre(1, 5));
  EXPECT_THAT(root.below[0].members(), ElementsAre(0, 2));
  EXPECT_THAT(root.below[1].members(), ElementsAre(5, 6));
  EXPECT_EQ(root.all, tree.contributors());
  const TreeNode relay = tree.node(1);
  EXPECT_FALSE(relay.contributes);
  EXPECT_EQ(relay.parent, 3U);
  EXPECT_THAT(relay.all.members(), ElementsAre(0, 2));
  const TreeNode leaf = tree.node(6);
  EXPECT_TRUE(leaf.children.empty());
  EXPECT_THAT(leaf.all.members(), ElementsAre(6));
  EXPECT_EQ(tree.node(3, 100).all.limit(), 100U);
  EXPECT_EQ(tree.node(3, 100).all.members(), root.all.members());
  EXPECT_FALSE(tree.contains(4));
  EXPECT_FALSE(tree.contains(7));
}

}  // namespace
}  // namespace stretto::collective
