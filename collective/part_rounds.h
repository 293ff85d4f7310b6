// SPDX-License-Identifier: Apache-2.0
// PartRounds: the rounds of one part at one place, one after the other, across losses. After a loss
// all stop, agree on what all have finished, and go on in a new epoch with other trees. What comes
// from before is known by its epoch and is not taken. The round after the last one that all have
// finished is made again, by what its makers gave before; who has its value already gives that.
#pragma once

#include <cstdint>

#include "collective/reduction.h"

namespace stretto::collective {

/// Thread: loop.
class PartRounds {
 public:
  PartRounds(TreeNode node, Reduction::Order order, std::uint32_t epoch);

  /// What is to be done with a frame of an epoch and round.
  enum class Verdict : std::uint8_t {
    kNow,
    kPast,   ///< Of an epoch that is over, or a round that is done: dropped.
    kEarly,  ///< Of an epoch that has not begun here: kept until it has.
    kWrong,  ///< Of a round that cannot be: its sender has gone wrong.
  };
  Verdict admit(std::uint32_t epoch, std::uint64_t round) const;

  /// This place's next contribution; at most one is open. Where the round cannot go on yet nothing
  /// is to be done: the bytes are kept, here and always until the round after it is done.
  Effects begin(Given given);
  /// Of an admitted frame: as Reduction has it.
  Result<Effects> partial(Place child, const IndexSet& from, Given given);
  Result<Effects> value(Place parent, const IndexSet& from);
  /// To be called after an input that was the round's last: what there is to do in the next one.
  Effects next();

  /// The next round goes by another tree, over as many places; none is open. All do so at the same
  /// round.
  void replan(TreeNode node);

  /// Of a place that comes to rounds that others have made: so many were before its first one,
  /// which may have begun but cannot go on yet.
  void come_after(std::uint64_t finished);
  /// Places have other numbers from the epoch that begins next on, and there are as many as these
  /// are of: a value that was made before counts for all of them.
  void renumber(const IndexSet& all) { last_from_ = all; }

  /// Whether members are yet to come in before the next contribution of this place: rounds whose
  /// value it has go on, and what it begins waits until a new epoch.
  void hold(bool holds) { holds_ = holds; }

  /// Somebody is lost: until resume() nothing is to be done, and finished() stays.
  void stop() { running_ = false; }
  /// The new epoch has begun, with a node whose sets are of as many places: all who are in it have
  /// finished this many rounds at least, some one more. kMalformed, without effect, if that cannot
  /// be.
  Result<Effects> resume(std::uint32_t epoch, TreeNode node, std::uint64_t finished_by_all);

  /// This place has contributed to the round that is open, or has its value from before.
  bool takes_part() const {
    return running_ && (finished_ >= round_ || (begun_ >= round_ && !holds_));
  }
  /// What this place begins is not held back by a loss, or by who comes in.
  bool goes() const { return running_ && !holds_; }
  std::uint32_t epoch() const { return epoch_; }
  /// The round that is open, or opens next.
  std::uint64_t round() const { return round_; }
  std::uint64_t begun() const { return begun_; }
  std::uint64_t finished() const { return finished_; }
  /// The round that has just been done is one that had been done here before.
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
  std::uint64_t begun_ = 0;        // Rounds that this place has contributed to,
  std::uint64_t finished_ = 0;     // and those whose value it has got.
  Given given_ = Given::kNothing;  // To the last one that was begun.
  IndexSet last_from_;             // Whose the last value is.
};

}  // namespace stretto::collective
