// SPDX-License-Identifier: Apache-2.0
// Consistency: which contributions count, when a round is done, and which workers get answers.
// Pure: it holds round numbers and sets of workers, no bytes. Sync is bulk-synchronous, bounded is
// Stale Synchronous Parallel (Ho et al., NIPS 2013), async answers at once. Eager modes behave here
// like sync and async: the differences are the update that a part makes of a round, and that the
// worker does not wait.
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

/// True if contributions are collected until all have come: rounds of sync and eager, and every
/// assignment.
inline bool are_collected(Mode mode, bool assign) { return assign || has_rounds(mode); }

/// The rounds of one part. Thread: loop.
class Consistency {
  friend class RoundsSnapshot;

 public:
  Consistency(const TensorOptions& options, ContributorGroup group);

  /// The condition for the answer to a worker.
  struct Gate {
    std::uint64_t finished = 0;  ///< Collected rounds that must be finished,
    std::uint64_t version = 1;   ///< and updates that must have been applied.
    bool bounded = false;  ///< And the worker must be at most `bound` rounds ahead of the slowest.
    bool made_nothing = false;  ///< There is no value then.
  };

  /// Whether a worker's contribution for its `round` may count now. Rejected without effect: one of
  /// a worker that is no contributor, of a round too far ahead, or of another kind than the open
  /// round's.
  Status admit(NodeId worker, std::uint64_t round, bool assign) const;
  /// Counts an admitted contribution. Returns the sources of what it completes: a collected round,
  /// or, where contributions apply on arrival, itself.
  std::optional<Sources> contribute(NodeId worker, bool assign);
  /// The collected round that was just completed makes no update.
  void make_nothing();
  /// Initialises an unused object. The value includes `version` rounds or contributions, made by
  /// others before these workers joined; with `rounds`, these workers have made them elsewhere in
  /// that many rounds, and continue to count from there.
  void resume(std::uint64_t version, std::optional<std::uint64_t> rounds = {});
  /// Sets the contributors, also of the open round: it drops removed workers and waits for new
  /// ones, whose first round it is. Without rounds a new worker starts at the fastest one's count:
  /// the first to report a join has made all rounds before its step, and the others will still make
  /// their last ones. Returns the sources of a round that this completes.
  std::optional<Sources> regroup(ContributorGroup next);
  const ContributorGroup& group() const { return group_; }
  /// The open collected round, or the next to open.
  std::uint64_t next_round() const { return finished_ + 1; }

  /// The condition for the answer to a contribution to the current round, or to a pull.
  Gate gate_after(bool assign, bool completed) const;
  Gate gate_of_pull(std::uint64_t least_round) const;
  bool passes(const Gate& gate, NodeId worker) const;
  /// Grows whenever a closed gate may have opened: while it is unchanged, none has.
  std::uint64_t progress() const { return progress_; }

  /// A worker that has left no longer holds others back by the bound; a collected round lacks it.
  void leave(NodeId worker);
  /// A worker without which the next or open collected round cannot finish.
  std::optional<NodeId> absentee() const;
  /// Workers that waiters wait for: those missing from a collected round, else the slowest.
  std::vector<NodeId> awaited() const;
  bool open() const { return !here_.empty(); }
  bool open_assigns() const { return open() && open_is_assign_; }

  /// The class invariant; false is a bug.
  bool consistent() const {
    return !here_.full() && finished_ <= version_ + empty_ && lost_ <= rounds_.left().size();
  }

  std::uint64_t version() const { return version_; }
  /// Rounds that the worker has contributed to, and those of them in the value. For a worker that
  /// joined later both include earlier rounds, which it does not know.
  std::uint64_t rounds_of(NodeId worker) const;
  std::uint64_t applied_of(NodeId worker) const;
  std::uint64_t rounds_before(NodeId worker) const;
  /// Of workers that have not left; if all have, the fastest.
  std::uint64_t slowest() const { return rounds_.least(); }
  std::uint32_t spread() const;

 private:
  Sources finish_round();

  Mode mode_;
  std::uint32_t bound_;
  ContributorGroup group_;             // Sets and counts use its indices.
  RoundCounts rounds_;                 // That each worker has contributed to,
  std::vector<std::uint64_t> before_;  // including these before it joined.
  IndexSet here_;                      // Contributors to the open collected round.
  std::uint32_t lost_ = 0;             // Left workers that are not in here_.
  bool open_is_assign_ = false;
  std::uint64_t finished_ = 0;  // Collected rounds,
  std::uint64_t empty_ = 0;     // and those of them that made no update:
  bool made_nothing_ = false;   // the last one made none.
  std::uint64_t version_ = 0;
  std::uint64_t progress_ = 0;
};

/// Workers that the open collected round still lacks.
std::vector<NodeId> missing_from(const Consistency& rounds);

/// The worker has contributed to the open collected round.
inline bool has_come(const Consistency& rounds, NodeId worker) {
  return rounds.applied_of(worker) != rounds.rounds_of(worker);
}

}  // namespace stretto
