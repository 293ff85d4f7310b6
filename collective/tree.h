// SPDX-License-Identifier: Apache-2.0
// Tree: the edges along which a part is reduced. Contributions go up to the root, the value goes
// down the same edges. Every primitive of all-reduce is a set of such trees, and primitives differ
// in the parents only. Data: nothing here sends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/index_set.h"
#include "stretto/status.h"

namespace stretto::collective {

/// Index of a participant. It is not reassigned while a round may be open that includes it, so sets
/// of places mean the same before and after a failure.
using Place = std::uint32_t;
inline constexpr Place kNobody = ~Place{0};
inline constexpr std::uint32_t kMostPlaces = 1024;

/// The view that one place has of a tree.
struct TreeNode {
  Place self = 0;
  Place parent = kNobody;  ///< kNobody: it is the root.
  bool contributes = true;
  std::vector<Place> children;  ///< Ascending; the order of addition with Order::kPlaces.
  std::vector<IndexSet> below;  ///< Contributors in each child's subtree.
  IndexSet all;                 ///< Contributors here and below.

  bool is_root() const { return parent == kNobody; }
};

/// A rooted tree over some of the places below a limit. Never changes. Thread: any.
class Tree {
 public:
  /// `parents[place]` is the receiver of its sum: itself at the root, kNobody outside the tree.
  /// `relays` add and forward without a contribution of their own. kInvalidArgument, with the
  /// place, unless that is one tree with a contributor below each relay.
  static Result<Tree> of(std::vector<Place> parents, const std::vector<Place>& relays = {});

  std::uint32_t limit() const { return static_cast<std::uint32_t>(parents_.size()); }
  Place root() const { return root_; }
  /// The root is its own parent.
  Place parent(Place place) const { return parents_[place]; }
  bool contains(Place place) const { return place < limit() && parents_[place] != kNobody; }
  const IndexSet& contributors() const { return contributors_; }
  /// All places, from the root down: parents before their children.
  const std::vector<Place>& downwards() const { return downwards_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(downwards_.size()); }
  /// Edges between the root and the place that is farthest from it.
  std::uint32_t depth() const;
  /// The node of a place in the tree. Its sets have the limit `places`, at least limit(): sets that
  /// outlive the tree need the same limit in a later, smaller one.
  TreeNode node(Place place, std::uint32_t places) const;
  TreeNode node(Place place) const { return node(place, limit()); }

 private:
  Tree() = default;

  std::vector<Place> parents_;
  std::vector<Place> downwards_;
  IndexSet contributors_;
  Place root_ = kNobody;
};

}  // namespace stretto::collective
