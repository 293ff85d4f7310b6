// SPDX-License-Identifier: Apache-2.0
// Reduction: one place's state of one round of one part, up and down a tree. Input: events. Output:
// effects. The contributors of a sum are a set; no decision depends on a count. The caller owns
// bytes, links and time.
//
//   own, partial   contributions of this place and its subtree; their complete sum goes to the
//                  parent, or at the root becomes the value, which goes down
//   value          from the parent: it goes down, and the round is done
//
// A part may be reduced again after a failure, when some places have the round's value already:
// they give that in place of their contribution, and it replaces every sum on its path. So all
// places end with the same bytes, whichever member failed and when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// The payload for a set of contributors.
enum class Given : std::uint8_t {
  kSum,      ///< Bytes: the sum of what they contribute.
  kNothing,  ///< No bytes: they contribute empty.
  kValue,    ///< Bytes: the value of this round, from before.
};

/// Actions for the caller, in this order.
struct Effects {
  enum class Send : std::uint8_t { kNothing, kUp, kDown };

  /// Replace the sum with these bytes; kNobody: keep it.
  Place adopt = kNobody;
  /// Add the bytes of these places to the sum, in order. Bytes that came earlier and were not
  /// listed then were retained for this. Valid until the next input.
  std::span<const Place> add = {};
  /// Then send the sum to the parent, or the value to all children.
  Send send = Send::kNothing;
  /// Then the round is done here, with its value.
  bool done = false;
};

/// Thread: loop.
class Reduction {
 public:
  /// Whether contributions are added on arrival, or in the order of places, so that the sum has the
  /// same bits in any order of arrival.
  enum class Order : std::uint8_t { kArrival, kPlaces };

  Reduction(TreeNode node, Order order);

  /// Starts the next round, or this one with another tree. Retained bytes are dropped.
  void restart();
  void restart(TreeNode node);

  /// This place's own contribution, with bytes or without, once a round if it contributes;
  /// or the round's value, with its contributors.
  Effects own(Given given);
  Effects own_value(const IndexSet& from);
  /// A child's message for these contributors: some or all of its subtree, in any order of arrival;
  /// with Order::kPlaces all at once. Duplicates have no effect. kMalformed, without effect, from
  /// another place, with a partial overlap, or with contributors outside the subtree.
  Result<Effects> partial(Place child, const IndexSet& from, Given given);
  /// The parent's value. kMalformed, without effect, before this place has sent its own, from
  /// another place, or without the contributors it sent. A value always has bytes: zeros if all
  /// contribute empty.
  Result<Effects> value(Place parent, const IndexSet& from);

  /// The contributors of the sum or the value.
  const IndexSet& contributors() const { return value_from_.empty() ? here_ : value_from_; }
  /// The contribution of `place` has come, even if the value is known without it.
  bool has_come(Place place) const { return here_.contains(place); }
  /// The sum has bytes; false: all contributions so far are empty.
  bool has_bytes() const { return has_bytes_; }
  /// The message to the parent is the round's value.
  bool has_value() const { return !value_from_.empty(); }
  bool begun() const { return !here_.empty(); }
  bool done() const { return state_ == State::kDone; }
  /// The subtree's sum has been sent to the parent, and the value has not come.
  bool sent() const { return state_ == State::kSent; }
  const TreeNode& node() const { return node_; }
  /// The places it waits for: itself, children, or the parent; empty when done.
  std::vector<Place> awaited() const;

 private:
  enum class State : std::uint8_t { kCollecting, kSent, kDone };

  Status check_partial(Place child, const IndexSet& from, Given given) const;
  Effects take(std::size_t at, const IndexSet& from, Given given);
  void add_in_turn();
  void finish_collecting(Effects& effects);
  Effects give_value();
  Place place_at(std::size_t at) const { return at == 0 ? node_.self : node_.children[at - 1]; }
  const IndexSet& expected_at(std::size_t at) const;

  TreeNode node_;
  Order order_;
  State state_ = State::kCollecting;
  IndexSet self_;        // This place alone, if it contributes.
  IndexSet here_;        // Contributions that have come.
  IndexSet value_from_;  // Contributors of the value, once known; empty before.
  bool has_bytes_ = false;
  // Own, then of each child: with Order::kPlaces, received and not added yet.
  enum class Kept : std::uint8_t { kMissing, kSum, kNothing };
  std::vector<Kept> kept_;
  std::size_t turn_ = 0;
  std::vector<Place> adds_;  // Backs Effects::add.
};

}  // namespace stretto::collective
