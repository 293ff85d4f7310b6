// SPDX-License-Identifier: Apache-2.0
// Consistency: when a share counts, when a round is done, and who may be told. Pure: it holds round
// numbers and sets of ranks, no bytes. Sync is bulk-synchronous, bounded is Stale Synchronous
// Parallel (Ho et al., NIPS 2013), async answers at once. To what follows from rounds and sets the
// eager modes are alike to sync and async: what differs is what a cell makes of a round, and that
// the worker does not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/rank_set.h"
#include "server/round_counts.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

namespace stretto {

/// The rounds of one part. Thread: loop.
class Consistency {
 public:
  Consistency(const TensorOptions& options, std::uint32_t workers);

  /// What a waiting worker waits for.
  struct Gate {
    std::uint64_t finished = 0;  ///< Collected rounds that must be finished,
    std::uint64_t version = 1;   ///< and updates that must have been applied.
    bool bounded = false;        ///< And the staleness bound must hold for the worker.
  };

  /// Whether rank's share for its `round` may count now. A share of a round too far ahead, or of
  /// another kind than the open round's, is refused and changes nothing.
  Status admit(Rank rank, std::uint64_t round, bool assign) const;
  /// True if shares are collected until all have come: rounds of sync and eager, and every
  /// assignment.
  bool collects(bool assign) const { return assign || has_rounds(mode_); }
  /// Counts an admitted share. If it completes what it is part of (a collected round, or, where
  /// shares apply as they come, itself), whose shares that is made of.
  std::optional<RankSet> contribute(Rank rank, bool assign);

  /// What the answer to rank's share of the round just contributed to, or to its pull, waits for.
  Gate gate_after(bool assign, bool completed) const;
  Gate gate_of_pull(std::uint64_t least_round) const;
  bool passes(const Gate& gate, Rank rank) const;
  /// The staleness bound holds for the worker: it is at most `bound` rounds ahead of the slowest.
  bool within_bound(Rank rank) const { return rounds_.of(rank) <= slowest() + bound_; }
  /// Grows whenever a gate that was closed may have opened: as long as it stays, none has.
  std::uint64_t progress() const { return progress_; }

  /// A worker that has left is waited for no longer by the bound; a collected round lacks it.
  void leave(Rank rank);
  /// A worker without which the next or open collected round cannot finish; -1 if there is none.
  std::int64_t absentee() const;
  /// Ranks that the open round still lacks.
  std::vector<Rank> missing() const;
  /// Ranks that waiting workers wait for: those missing from a collected round, else the slowest.
  std::vector<Rank> awaited() const;
  bool open() const { return !here_.empty(); }
  bool open_assigns() const { return open() && open_is_assign_; }
  /// Whoever waits outside a collected round is held back by the bound.
  bool bounds() const { return mode_ == Mode::kBounded && version_ > 0; }

  /// What always holds; false is a bug of ours.
  bool consistent() const {
    return !here_.full() && finished_ <= version_ && lost_ <= rounds_.left().size();
  }

  std::uint64_t version() const { return version_; }
  /// Rounds that the worker has contributed to, and those of them that are in the value.
  std::uint64_t rounds_of(Rank rank) const { return rounds_.of(rank); }
  std::uint64_t applied_of(Rank rank) const {
    return rounds_.of(rank) - (here_.contains(rank) ? 1 : 0);
  }
  /// Of those who have not left; if all have, the fastest.
  std::uint64_t slowest() const { return rounds_.least(); }
  std::uint32_t spread() const;

 private:
  RankSet finish_round();

  Mode mode_;
  std::uint32_t bound_;
  RoundCounts rounds_;      // That each worker has contributed to.
  RankSet here_;            // Contributors to the open collected round.
  std::uint32_t lost_ = 0;  // Of those who have left, how many are not among them.
  bool open_is_assign_ = false;
  std::uint64_t finished_ = 0;  // Collected rounds.
  std::uint64_t version_ = 0;
  std::uint64_t progress_ = 0;
};

}  // namespace stretto
