// SPDX-License-Identifier: Apache-2.0
// StepGate: where this worker's steps begin and new workers join. The scheduler asks all workers
// for the step that they have begun. No worker begins a later step before it knows which workers
// join before which. It tells the shards when all earlier operations are done, ahead of the step's
// first contribution.
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

/// The program's current step, and whether the loop must be asked about the next one. It is one
/// word, so that ask() either sees a step or makes the next one ask. Thread: any.
class StepCount {
 public:
  std::uint64_t begun() const { return word_ >> 1; }
  bool is_asked() const { return (word_ & 1) != 0; }
  /// Begins the next step. Nothing, without effect, if the loop must be asked.
  std::optional<std::uint64_t> begin();

  void set(std::uint64_t begun, bool is_asked) { word_ = begun << 1 | std::uint64_t{is_asked}; }
  /// Turns asking on or off. Returns the program's current step.
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
    /// True if no open round has a contribution of this worker, and no operation is in flight.
    std::function<bool()> is_at_rest;
    /// Barriers that this worker has reached.
    std::function<std::uint64_t()> barriers;
  };

  /// A step waits at most for `patience`.
  StepGate(const Clock& clock, Duration patience, Ways ways)
      : clock_(clock), patience_(patience), ways_(std::move(ways)) {}

  const std::shared_ptr<StepCount>& count() const { return count_; }
  /// The program's current step, or the step before which this worker has joined.
  std::uint64_t at() const { return std::max(count_->begun(), entered_at_); }

  /// The program begins this step as soon as `begun` is called. One at a time.
  void begin(std::uint64_t step, Begun begun);
  /// This worker has joined before this step, perhaps with others.
  void enter(const control::TakeIn& taken);
  /// Skips the steps that this worker has sat out.
  void catch_up(std::uint64_t step);
  /// The scheduler's question, which is answered at once: programs may wait for one another. The
  /// scheduler's decision arrives as a roster.
  void on_question(const control::AtStep& question);
  void follow(const Roster& roster);

  /// The known admissions of new workers; a shard that replaces a lost one may lack them.
  const std::vector<control::TakeIn>& said() const { return said_; }

  void tick();
  Time next_due() const { return waiting_ ? patience_.extended(waiting_->deadline) : Time::max(); }
  /// Patience::excuse.
  void excuse(Time now) { patience_.excuse(now); }
  bool idle() const { return !waiting_; }
  /// When the waiting step was requested.
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
  std::uint64_t question_ = 0;  // The last one.
  bool is_open_ = false;        // It has no answer yet.
  std::uint64_t told_ = 0;      // The last step that the program may begin without an answer.
  // New workers, by the step before which they join. Another question may arrive before the program
  // has reached such a step.
  std::map<std::uint64_t, std::set<NodeId>> coming_;
  std::vector<control::TakeIn> said_;  // Of new workers that are still members.
  Status ended_;                       // Why no step begins any more, or ok.
  std::uint32_t entered_ = 0;          // Workers that join with the first step, this one included.
  std::uint64_t entered_at_ = 0;       // That step.
};

}  // namespace stretto
