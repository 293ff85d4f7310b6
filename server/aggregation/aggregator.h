// SPDX-License-Identifier: Apache-2.0
// Aggregator: makes updates from a part's contributions. Consistency decides which ones count and
// when a round is complete; this adds up their bytes. It knows no values and sends nothing.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "server/aggregation/broadcast_round.h"
#include "server/aggregation/consistency.h"
#include "server/aggregation/contribution.h"
#include "server/aggregation/part_layout.h"
#include "server/aggregation/preaggregated_sums.h"

namespace stretto {

/// Thread: loop.
class Aggregator {
 public:
  /// Whether contributions of an open round are added on arrival, or kept until it is complete:
  /// only kept ones allow to redo the round without some of them.
  enum class Shares : std::uint8_t { kAdded, kKept };

  Aggregator(const PartLayout& layout, ContributorGroup group, Allocate allocate = Buffer::allocate,
             Shares shares = Shares::kAdded);

  /// The effect of a contribution.
  struct Counted {
    Consistency::Gate gate;        ///< Condition for its answer.
    std::optional<Update> update;  ///< The completed update: of its round, or of the contribution
                                   ///< itself where each applies on arrival.
  };
  /// Counts a contribution: summed or kept when this returns a value, rejected without effect
  /// otherwise. The first one's memory becomes the sum if it is exclusive, and is copied otherwise;
  /// later ones are added directly from the transport's memory. A kept contribution is not copied
  /// if its memory is exclusive or lent permanently.
  Result<Counted> add(Share share);
  /// Counts a preaggregated sum as a contribution of each of `makers`. Its sender need not be one
  /// of them.
  Result<Counted> add_sum(Share sum, const std::vector<NodeId>& makers);

  /// Sets the contributors from `from_round` on; at once if that round is open or opens next, or if
  /// the mode has no rounds. Replaces pending changes from that round on. `gone` workers are
  /// removed at once: the open round's sum is made without them, and an update that this completes
  /// is returned. Rejected without effect if only some contributors of a sum are gone. The same if
  /// contributions are not kept and the open round depends on a gone worker.
  Result<std::optional<Update>> regroup(const ContributorGroup& next, std::uint64_t from_round,
                                        const std::set<NodeId>& gone = {});

  /// Upper limit of the bytes that held contributions of the open round take beyond its sum.
  std::uint64_t most_held_bytes() const;

  BroadcastRound& broadcast() { return broadcast_; }
  Consistency& rounds() { return rounds_; }
  const Consistency& rounds() const { return rounds_; }

 private:
  Status check(const Share& share) const;
  Status check_encoding(const Share& share) const;
  Status check_gone(const Contributors& next) const;
  std::optional<Update> regroup_now(const ContributorGroup& next);
  void follow_changes();
  Update made_of(Sources from, bool assign, Buffer bytes);
  std::optional<Update> finish(Sources from, bool assign);
  Rank rank_of(const Share& share) const;
  void hold_places(Share& sum, const std::vector<NodeId>& makers);
  void collect(Share share);
  void add_in_rank_order(std::uint32_t until);
  Buffer take_sum();
  void add_to_sum(Share share);
  void add_numbers(Buffer share);
  void make_sum_ours();
  void add_widened(const Buffer& share);
  Buffer decoded(const Buffer& encoded) const;

  PartLayout layout_;
  Allocate allocate_;
  Consistency rounds_;
  Buffer sum_;  // Of the open collected round; empty before its first bytes. Read-only while it is
                // a kept contribution in its sender's memory.
  Shares shares_;
  std::vector<Share> held_;     // Contributions to add later, by contributor; or empty.
  PreaggregatedSums sums_;      // Of those in held_.
  std::uint32_t turn_ = 0;      // Next index to add.
  std::set<NodeId> listeners_;  // Of the open round.
  BroadcastRound broadcast_;
  struct Change {
    ContributorGroup group;
    std::uint64_t from_round = 0;
  };
  std::vector<Change> to_come_;  // Pending, ascending by round.
};

}  // namespace stretto
