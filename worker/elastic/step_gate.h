// SPDX-License-Identifier: Apache-2.0
// StepGate: where this worker's steps begin. Newcomers come in there: the scheduler asks all which
// step they have begun, and none begins one beyond that before it knows who comes in before
// which. That is told to the shards when all that was begun before is done, ahead of the step's
// first share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/clock.h"
#include "core/roster.h"
#include "stretto/steps.h"
#include "van/control/control.h"
#include "worker/operations/patience.h"

namespace stretto {

/// The step that the program is in, and whether the loop must hear of the next one: in one word, so
/// that who asks knows which step the program is in, or will ask about. Thread: any.
class StepCount {
 public:
  std::uint64_t begun() const { return word_ >> 1; }
  bool is_asked() const { return (word_ & 1) != 0; }
  /// The next step has begun; nothing, and nothing has changed, if the loop must hear of it.
  std::optional<std::uint64_t> begin();

  void set(std::uint64_t begun, bool is_asked) { word_ = begun << 1 | std::uint64_t{is_asked}; }
  /// It is asked from now on, or is not. Returns the step that the program is in.
  std::uint64_t ask(bool is_asked);

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// Thread: loop.
class StepGate {
 public:
  using Begun = std::function<void(const Result<StepBegin>&)>;
  struct Ways {
    std::function<void(const control::AtStep&)> tell_scheduler;
    std::function<void(const control::TakeIn&)> tell_shards;
    /// No round is open that this worker has a share in, and nothing of its own is in flight.
    std::function<bool()> is_at_rest;
    /// Barriers that it has come to.
    std::function<std::uint64_t()> barriers;
  };

  /// A step waits at most for `patience`.
  StepGate(const Clock& clock, Duration patience, Ways ways)
      : clock_(clock), patience_(patience), ways_(std::move(ways)) {}

  const std::shared_ptr<StepCount>& count() const { return count_; }
  /// The step that the program is in, or before which this worker has come in.
  std::uint64_t at() const { return std::max(count_->begun(), entered_at_); }

  /// The program begins this step as soon as `begun` is called. One at a time.
  void begin(std::uint64_t step, Begun begun);
  /// This worker has come in, with others perhaps, before this step.
  void enter(const control::TakeIn& taken);
  /// It has sat out steps, and is where others are.
  void catch_up(std::uint64_t step);
  /// The scheduler asks, and is answered at once: programs may wait for one another. It answers by
  /// a roster.
  void on_question(const control::AtStep& question);
  void follow(const Roster& roster);

  /// What this worker knows of newcomers that make rounds: who has a lost shard's place may not.
  const std::vector<control::TakeIn>& said() const { return said_; }

  void tick();
  Time next_due() const { return waiting_ ? patience_.extended(waiting_->deadline) : Time::max(); }
  /// Patience::excuse.
  void excuse(Time now) { patience_.excuse(now); }
  bool idle() const { return !waiting_; }
  /// When the step was to begin that waits.
  std::optional<Time> waits_since() const;
  void end_all(const Status& why);

 private:
  struct Waiting {
    std::uint64_t step = 0;
    Begun begun;
    Time since;
    Time deadline;
  };
  void let_go(std::uint32_t newcomers);
  void give_up(const Status& why);
  bool is_asked() const { return waiting_ || entered_ > 0 || is_open_ || !coming_.empty(); }

  const Clock& clock_;
  Patience patience_;
  const Ways ways_;
  const std::shared_ptr<StepCount> count_ = std::make_shared<StepCount>();
  std::optional<Waiting> waiting_;
  std::uint64_t question_ = 0;  // The last one,
  bool is_open_ = false;        // which has no answer yet.
  std::uint64_t told_ = 0;      // The last step that the program may begin without one.
  // Newcomers, by the step before which they come in. There may be another question while the
  // program is yet to come to such a step.
  std::map<std::uint64_t, std::set<NodeId>> coming_;
  std::vector<control::TakeIn> said_;  // Of newcomers that are still in.
  Status ended_;                       // Why nothing begins any more, or ok.
  std::uint32_t entered_ = 0;          // Newcomers of the first step, ourselves among them,
  std::uint64_t entered_at_ = 0;       // which is this one.
};

}  // namespace stretto
