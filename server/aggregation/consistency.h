// SPDX-License-Identifier: Apache-2.0
// Consistency: when a share counts, when a round is done, and who may be told. Pure: it holds round
// numbers and sets of workers, no bytes. Sync is bulk-synchronous, bounded is Stale Synchronous
// Parallel (Ho et al., NIPS 2013), async answers at once. To what follows from rounds and sets the
// eager modes are alike to sync and async: what differs is what a part makes of a round, and that
// the worker does not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index_set.h"
#include "server/aggregation/contributors.h"
#include "server/aggregation/round_counts.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

namespace stretto {

/// True if shares are collected until all have come: rounds of sync and eager, and every
/// assignment.
inline bool are_collected(Mode mode, bool assign) { return assign || has_rounds(mode); }

/// The rounds of one part. Thread: loop.
class Consistency {
  friend class RoundsSnapshot;

 public:
  Consistency(const TensorOptions& options, ContributorGroup group);

  /// What a waiting worker waits for.
  struct Gate {
    std::uint64_t finished = 0;  ///< Collected rounds that must be finished,
    std::uint64_t version = 1;   ///< and updates that must have been applied.
    bool bounded = false;  ///< And the worker must be at most `bound` rounds ahead of the slowest.
    bool made_nothing = false;  ///< There is no value to be had then.
  };

  /// Whether a worker's share for its `round` may count now. A share of who does not contribute, of
  /// a round too far ahead, or of another kind than the open round's, is refused and changes
  /// nothing.
  Status admit(NodeId worker, std::uint64_t round, bool assign) const;
  /// Counts an admitted share. If it completes what it is part of (a collected round, or, where
  /// shares apply as they come, itself), whose shares that is made of.
  std::optional<Sources> contribute(NodeId worker, bool assign);
  /// The collected round that has just been completed makes no update after all.
  void make_nothing();
  /// Before anything has come: its value is of so many rounds or contributions, which others have
  /// made before anybody here came; or, with `rounds`, which those who are here have made elsewhere
  /// in so many rounds, from which they count on.
  void resume(std::uint64_t version, std::optional<std::uint64_t> rounds = {});
  /// From now on these make rounds, the open one too: it lacks who is not among them any more, and
  /// waits for who is new, whose first round it is (where there are no rounds it begins where the
  /// fastest of the others is: whoever says first that a newcomer is in has made all rounds before
  /// its step, and the others are yet to make their last ones); if nobody is missing from it then,
  /// it is done, and this says whose shares it has.
  std::optional<Sources> regroup(ContributorGroup next);
  const ContributorGroup& group() const { return group_; }
  /// The collected round that is open, or opens next.
  std::uint64_t next_round() const { return finished_ + 1; }

  /// What the answer to a worker's share of the round just contributed to, or to its pull, waits
  /// for.
  Gate gate_after(bool assign, bool completed) const;
  Gate gate_of_pull(std::uint64_t least_round) const;
  bool passes(const Gate& gate, NodeId worker) const;
  /// Grows whenever a gate that was closed may have opened: as long as it stays, none has.
  std::uint64_t progress() const { return progress_; }

  /// A worker that has left is waited for no longer by the bound; a collected round lacks it.
  void leave(NodeId worker);
  /// A worker without which the next or open collected round cannot finish.
  std::optional<NodeId> absentee() const;
  /// Whom waiting workers wait for: those missing from a collected round, else the slowest.
  std::vector<NodeId> awaited() const;
  bool open() const { return !here_.empty(); }
  bool open_assigns() const { return open() && open_is_assign_; }

  /// What always holds; false is a bug of ours.
  bool consistent() const {
    return !here_.full() && finished_ <= version_ + empty_ && lost_ <= rounds_.left().size();
  }

  std::uint64_t version() const { return version_; }
  /// Rounds that the worker has contributed to, and those of them that are in the value: of one
  /// that came later with those that were before it came, which it does not know of itself.
  std::uint64_t rounds_of(NodeId worker) const;
  std::uint64_t applied_of(NodeId worker) const;
  std::uint64_t rounds_before(NodeId worker) const;
  /// Of those who have not left; if all have, the fastest.
  std::uint64_t slowest() const { return rounds_.least(); }
  std::uint32_t spread() const;

 private:
  Sources finish_round();

  Mode mode_;
  std::uint32_t bound_;
  ContributorGroup group_;             // Sets and counts go by its indices.
  RoundCounts rounds_;                 // That each worker has contributed to,
  std::vector<std::uint64_t> before_;  // with so many before it came.
  IndexSet here_;                      // Contributors to the open collected round.
  std::uint32_t lost_ = 0;             // Of those who have left, how many are not among them.
  bool open_is_assign_ = false;
  std::uint64_t finished_ = 0;  // Collected rounds,
  std::uint64_t empty_ = 0;     // and those of them that made no update:
  bool made_nothing_ = false;   // the last one is such.
  std::uint64_t version_ = 0;
  std::uint64_t progress_ = 0;
};

/// Whom the open collected round still lacks.
std::vector<NodeId> missing_from(const Consistency& rounds);

/// It has contributed to the open collected round.
inline bool has_come(const Consistency& rounds, NodeId worker) {
  return rounds.applied_of(worker) != rounds.rounds_of(worker);
}

}  // namespace stretto
