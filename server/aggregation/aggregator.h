// SPDX-License-Identifier: Apache-2.0
// Aggregator: makes updates of a part's shares. Consistency says when a share counts and what is
// complete; the bytes of an open round are added up here. Knows no values and sends nothing.
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
  /// Whether the shares of an open round are added up as they come, or kept until it is whole: only
  /// then can it be made again without one of them.
  enum class Shares : std::uint8_t { kAdded, kKept };

  Aggregator(const PartLayout& layout, ContributorGroup group, Allocate allocate = Buffer::allocate,
             Shares shares = Shares::kAdded);

  /// What a share did.
  struct Counted {
    Consistency::Gate gate;        ///< What the answer to it waits for.
    std::optional<Update> update;  ///< What it completed: its round, or itself where shares apply
                                   ///< as they come.
  };
  /// Counts a share: summed or kept when this returns a value, refused and without effect
  /// otherwise. The first share's memory becomes the sum if it is ours alone, and is copied
  /// otherwise; the others are added straight out of the transport's memory. A kept share stays
  /// where it is if it is ours alone or lent to last, and is copied otherwise.
  Result<Counted> add(Share share);
  /// The same of a sum that has been made elsewhere of several workers' contributions, as a share
  /// of each of them. Its sender need not be one of them.
  Result<Counted> add_sum(Share sum, const std::vector<NodeId>& makers);

  /// Who makes rounds from `from_round` on, or at once if that is the open round or the next one to
  /// open; where there are no rounds it is always at once. Replaces what was to come from that
  /// round on. Those who are `gone` are out at once: the open round's sum is made without them, and
  /// the update is returned that this may complete. Refused and without effect if of a sum's makers
  /// some are gone and others are not, or if shares are not kept, and the open round cannot be made
  /// without somebody.
  Result<std::optional<Update>> regroup(const ContributorGroup& next, std::uint64_t from_round,
                                        const std::set<NodeId>& gone = {});

  /// Most that shares of the open round take which wait to be added, beyond its sum.
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
  Buffer sum_;  // Of the open collected round; empty before its first bytes. Read-only while it
                // is a kept share, where its sender has it.
  Shares shares_;
  std::vector<Share> held_;  // Shares that are added later, by their workers' order; or none are.
  PreaggregatedSums sums_;   // Of those held.
  std::uint32_t turn_ = 0;   // Whose share is to be added next.
  std::set<NodeId> listeners_;  // Of the open round.
  BroadcastRound broadcast_;
  struct Change {
    ContributorGroup group;
    std::uint64_t from_round = 0;
  };
  std::vector<Change> to_come_;  // Each once its round is the next; by rounds.
};

}  // namespace stretto
