// SPDX-License-Identifier: Apache-2.0
// Reduction: one place's view of one round of one part, while it goes up and down a tree. It is
// told what comes and says what is to be done; whose contributions are in a sum it knows as a set,
// and no count decides anything. Bytes, links and time are its owner's.
//
//   own, partial   what is to be added up here and below; once all of it has come, the sum goes up,
//                  or at the root becomes the value, which goes down
//   value          from the parent: it goes down, and the round is done
//
// A part may be reduced again after a loss, when some have the round's value already: they give
// that value in place of their contribution, and it takes the place of every sum that it meets. So
// all have the same bytes in the end, whoever was lost and when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// What comes with a set of contributors.
enum class Given : std::uint8_t {
  kSum,      ///< Bytes: the sum of what they contribute.
  kNothing,  ///< No bytes: they take part with nothing.
  kValue,    ///< Bytes: the value of this round, which they made before.
};

/// What there is to do, in this order.
struct Effects {
  enum class Send : std::uint8_t { kNothing, kUp, kDown };

  /// Take these bytes as they are, in place of the sum; nobody if there is nothing to take.
  Place adopt = kNobody;
  /// Add the bytes of these to the sum, one after the other. Whose bytes came earlier and were not
  /// named then have been kept since. Until the next input.
  std::span<const Place> add = {};
  /// Then send the sum to the parent, or the value to all children.
  Send send = Send::kNothing;
  /// Then the round is done here, and the value is there.
  bool done = false;
};

/// Thread: loop.
class Reduction {
 public:
  /// Whether contributions are added as they come, or in the order of places, so that the sum has
  /// the same bits whatever comes first.
  enum class Order : std::uint8_t { kArrival, kPlaces };

  Reduction(TreeNode node, Order order);

  /// The same for the next round, or for this one by another tree. What was kept is of no use.
  void restart();
  void restart(TreeNode node);

  /// This place's own contribution, with bytes or without, once a round at a place that
  /// contributes; or the round's value, which these made.
  Effects own(Given given);
  Effects own_value(const IndexSet& from);
  /// A child's, for these contributors: some or all of those below it, in any order of arrival; in
  /// the order of places all of them at once. What is there already has no effect. kMalformed,
  /// without effect, if it is not a child's, overlaps with what is there, or names others.
  Result<Effects> partial(Place child, const IndexSet& from, Given given);
  /// The parent's. kMalformed, without effect, before this place has sent its own, from another
  /// place, or without those whose contributions it sent. A value always has bytes: zeros where all
  /// take part with nothing.
  Result<Effects> value(Place parent, const IndexSet& from);

  /// Who is in the sum or the value.
  const IndexSet& contributors() const { return value_from_.empty() ? here_ : value_from_; }
  /// This one's contribution has come, though the value may be known without it.
  bool has_come(Place place) const { return here_.contains(place); }
  /// The sum has bytes; else all that have come take part with nothing.
  bool has_bytes() const { return has_bytes_; }
  /// What goes up is the round's value.
  bool has_value() const { return !value_from_.empty(); }
  bool begun() const { return !here_.empty(); }
  bool done() const { return state_ == State::kDone; }
  /// The sum of all here and below has gone to the parent, and its value has not come.
  bool sent() const { return state_ == State::kSent; }
  const TreeNode& node() const { return node_; }
  /// Whom it waits for: itself, children, or the parent; nobody when it is done.
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
  IndexSet here_;        // Whose contributions have come.
  IndexSet value_from_;  // Whose are in the value, once it is known; empty before.
  bool has_bytes_ = false;
  // Of oneself, then of each child: in the order of places, what has come and is not added yet.
  enum class Kept : std::uint8_t { kMissing, kSum, kNothing };
  std::vector<Kept> kept_;
  std::size_t turn_ = 0;
  std::vector<Place> adds_;  // What Effects::add looks at.
};

}  // namespace stretto::collective
