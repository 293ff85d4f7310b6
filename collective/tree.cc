// SPDX-License-Identifier: Apache-2.0
// A vector of parents is a tree if it has one root, from which every place is reached.
#include "collective/tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto::collective {
namespace {

Status no_tree(const std::string& why) { return {Code::kInvalidArgument, "no tree: " + why}; }

// The root: the only place that is its own parent.
Result<Place> root_of(const std::vector<Place>& parents) {
  Place root = kNobody;
  for (Place place = 0; place < parents.size(); ++place) {
    const Place parent = parents[place];
    if (parent == kNobody) continue;
    if (parent >= parents.size() || parents[parent] == kNobody) {
      return no_tree(fmt::format("place {} sends to {}, which is not in it", place, parent));
    }
    if (parent != place) continue;
    if (root != kNobody) return no_tree(fmt::format("places {} and {} are roots", root, place));
    root = place;
  }
  if (root == kNobody) return no_tree("nobody is the root");
  return root;
}

std::vector<Place> from_root_down(const std::vector<Place>& parents, Place root) {
  std::vector<std::vector<Place>> children(parents.size());
  for (Place place = 0; place < parents.size(); ++place) {
    if (parents[place] != kNobody && place != root) children[parents[place]].push_back(place);
  }
  std::vector<Place> downwards = {root};
  for (std::size_t next = 0; next < downwards.size(); ++next) {
    for (const Place child : children[downwards[next]]) downwards.push_back(child);
  }
  return downwards;
}

}  // namespace

Result<Tree> Tree::of(std::vector<Place> parents, const std::vector<Place>& relays) {
  if (parents.size() > kMostPlaces) {
    return no_tree(fmt::format("{} places, at most {} can be", parents.size(), kMostPlaces));
  }
  Result<Place> root = root_of(parents);
  if (!root.ok()) return root.status();
  Tree tree;
  tree.root_ = *root;
  tree.downwards_ = from_root_down(parents, *root);
  tree.contributors_ = IndexSet(static_cast<std::uint32_t>(parents.size()));
  for (const Place place : tree.downwards_) {
    if (std::ranges::find(relays, place) == relays.end()) tree.contributors_.insert(place);
  }
  std::vector<bool> reached(parents.size());
  for (const Place place : tree.downwards_) reached[place] = true;
  for (Place place = 0; place < parents.size(); ++place) {
    if (parents[place] == kNobody || reached[place]) continue;
    return no_tree(fmt::format("place {} does not lead to the root, {}", place, *root));
  }
  std::vector<bool> passed(parents.size());  // Contributions go up from there.
  for (std::size_t left = tree.downwards_.size(); left > 0; --left) {
    const Place next = tree.downwards_[left - 1];
    if (tree.contributors_.contains(next)) passed[next] = true;
    if (!passed[next]) return no_tree(fmt::format("nobody contributes below relay {}", next));
    passed[parents[next]] = true;
  }
  tree.parents_ = std::move(parents);
  return tree;
}

std::uint32_t Tree::depth() const {
  std::uint32_t edges = 0;
  for (Place place = downwards_.back(); place != root_; place = parents_[place]) ++edges;
  return edges;
}

TreeNode Tree::node(Place place, std::uint32_t places) const {
  STRETTO_CHECK(contains(place) && places >= limit());
  TreeNode node{.self = place,
                .parent = place == root_ ? kNobody : parents_[place],
                .contributes = contributors_.contains(place),
                .children = {},
                .below = {},
                .all = {}};
  std::vector<IndexSet> below(limit(), IndexSet(places));
  for (std::size_t left = downwards_.size(); left > 0; --left) {
    const Place next = downwards_[left - 1];
    if (contributors_.contains(next)) below[next].insert(next);
    if (next == place) break;  // Places before it are not in its subtree.
    below[parents_[next]].insert_all(below[next]);
  }
  node.all = std::move(below[place]);
  for (const Place child : downwards_) {
    if (child != root_ && parents_[child] == place) node.children.push_back(child);
  }
  std::ranges::sort(node.children);
  for (const Place child : node.children) node.below.push_back(std::move(below[child]));
  return node;
}

}  // namespace stretto::collective
