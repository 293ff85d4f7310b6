// SPDX-License-Identifier: Apache-2.0
// Tree: who sends to whom while a part is reduced. Contributions go up to the root, the value goes
// down the same edges: every primitive of all-reduce is a set of such trees, and differs from the
// others in parents alone. Data: nothing here sends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/index_set.h"
#include "stretto/status.h"

namespace stretto::collective {

/// Who takes part, by number. A number is not given to another one while a round is open that it
/// may be in, so sets of places mean the same before and after a loss.
using Place = std::uint32_t;
inline constexpr Place kNobody = ~Place{0};
inline constexpr std::uint32_t kMostPlaces = 1024;

/// All that one place has to know of a tree.
struct TreeNode {
  Place self = 0;
  Place parent = kNobody;  ///< Nobody: it is the root.
  bool contributes = true;
  std::vector<Place> children;  ///< Upwards; contributions are added in this order if in any.
  std::vector<IndexSet> below;  ///< Who contributes below each child, the child too.
  IndexSet all;                 ///< Who contributes here and below.

  bool is_root() const { return parent == kNobody; }
};

/// A rooted tree over some of the places below a limit. Never changes. Thread: any.
class Tree {
 public:
  /// `parents[place]` is who it sends to: itself at the root, kNobody for who is not in the tree.
  /// `relays` add and pass on without a contribution of their own. kInvalidArgument, with the
  /// place, unless that is one tree in which somebody contributes below each relay.
  static Result<Tree> of(std::vector<Place> parents, const std::vector<Place>& relays = {});

  std::uint32_t limit() const { return static_cast<std::uint32_t>(parents_.size()); }
  Place root() const { return root_; }
  /// The root's is itself.
  Place parent(Place place) const { return parents_[place]; }
  bool contains(Place place) const { return place < limit() && parents_[place] != kNobody; }
  const IndexSet& contributors() const { return contributors_; }
  /// All places, from the root down: parents before their children.
  const std::vector<Place>& downwards() const { return downwards_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(downwards_.size()); }
  /// Edges between the root and the place that is farthest from it.
  std::uint32_t depth() const;
  /// Of a place in the tree. Its sets are of so many places, limit() at least: sets that outlive
  /// the tree, because a later one has lost its last place, want the same for both.
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
