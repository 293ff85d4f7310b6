// SPDX-License-Identifier: Apache-2.0
// PartRounds: the rounds of one part at one place, in sequence, across failures. After a failure
// all places stop, agree on the last round that all have finished, and resume in a new epoch with
// other trees. Frames of earlier epochs are rejected by their epoch. The next round is redone from
// retained contributions; a place that has its value already gives that.
#pragma once

#include <cstdint>

#include "collective/reduction.h"

namespace stretto::collective {

/// Thread: loop.
class PartRounds {
 public:
  PartRounds(TreeNode node, Reduction::Order order, std::uint32_t epoch);

  /// What to do with a frame of an epoch and round.
  enum class Verdict : std::uint8_t {
    kNow,
    kPast,   ///< Of an ended epoch, or a finished round: dropped.
    kEarly,  ///< Of an epoch that has not begun here: kept until then.
    kWrong,  ///< Of an impossible round: a fault of the sender.
  };
  Verdict admit(std::uint32_t epoch, std::uint64_t round) const;

  /// This place's next contribution; at most one is open. No effects while the round cannot
  /// continue. The caller must keep the bytes until the next round is done.
  Effects begin(Given given);
  /// Admitted frames; as in Reduction.
  Result<Effects> partial(Place child, const IndexSet& from, Given given);
  Result<Effects> value(Place parent, const IndexSet& from);
  /// Call it after the input that completed a round: the effects in the next one.
  Effects next();

  /// The next round uses another tree over as many places; no round may be open. All places replan
  /// at the same round.
  void replan(TreeNode node);

  /// For a place that joins after `finished` rounds of the others. Its first round may be begun,
  /// but cannot continue yet.
  void come_after(std::uint64_t finished);
  /// Places get new numbers from the next epoch on, and `all` is the set of them: the last value
  /// counts for all.
  void renumber(const IndexSet& all) { last_from_ = all; }

  /// Whether members will join before this place's next contribution. Rounds whose value it has
  /// continue; new ones wait for a new epoch.
  void hold(bool holds) { holds_ = holds; }

  /// A member has failed: no effects until resume(), and finished() stays.
  void stop() { running_ = false; }
  /// Starts a new epoch with a node whose sets have the same limit. All its places have finished
  /// this many rounds, some one more. kMalformed, without effect, if that is impossible.
  Result<Effects> resume(std::uint32_t epoch, TreeNode node, std::uint64_t finished_by_all);

  /// This place has contributed to the open round, or has its value from before.
  bool takes_part() const {
    return running_ && (finished_ >= round_ || (begun_ >= round_ && !holds_));
  }
  /// This place's rounds are blocked neither by a failure nor by a join.
  bool goes() const { return running_ && !holds_; }
  std::uint32_t epoch() const { return epoch_; }
  /// The open round, or the next to open.
  std::uint64_t round() const { return round_; }
  std::uint64_t begun() const { return begun_; }
  std::uint64_t finished() const { return finished_; }
  /// The round that has just completed was a repetition.
  bool again() const { return again_; }
  const Reduction& reduction() const { return reduction_; }

 private:
  Effects feed();
  Effects settled(const Effects& effects);

  Reduction reduction_;
  std::uint32_t epoch_;
  bool running_ = true;
  bool holds_ = false;
  bool over_ = false;  // The round is done, and next() has not been called.
  bool again_ = false;
  std::uint64_t round_ = 1;
  std::uint64_t begun_ = 0;        // Rounds to which this place has contributed,
  std::uint64_t finished_ = 0;     // and those whose value it has.
  Given given_ = Given::kNothing;  // Of the last begun round.
  IndexSet last_from_;             // Contributors of the last value.
};

}  // namespace stretto::collective
