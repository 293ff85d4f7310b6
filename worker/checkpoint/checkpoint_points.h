// SPDX-License-Identifier: Apache-2.0
// CheckpointPoints: where this worker's program could make a checkpoint, and whether one is due by
// the scheduler's clock. All workers take the same point: the scheduler asks each for the last one
// it passed, and no worker passes another one before it knows the decision.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/clock.h"
#include "stretto/status.h"
#include "van/control/control.h"
#include "worker/operations/patience.h"

namespace stretto {

/// The step of the last point, and whether the loop must be asked about the next one. It is one
/// word, so that ask() either sees a point or makes the next one ask. Thread: any.
class CheckpointPointWord {
 public:
  /// False, without effect, if the loop must be asked.
  bool pass(std::uint64_t step) {
    std::uint64_t word = word_;
    do {
      if ((word & 1) != 0) return false;
    } while (!word_.compare_exchange_weak(word, step << 1));
    return true;
  }
  /// Turns asking on or off. Returns the step of the last point that passed.
  std::uint64_t ask(bool is_asked) {
    return (is_asked ? word_.fetch_or(1) : word_.fetch_and(~std::uint64_t{1})) >> 1;
  }
  void set(std::uint64_t step, bool is_asked) { word_ = step << 1 | std::uint64_t{is_asked}; }

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// Thread: loop.
class CheckpointPoints {
 public:
  using Due = std::function<void(const Result<bool>&)>;
  using Tell = std::function<void(const control::AtStep&)>;

  /// A point waits for an answer at most for `patience`.
  CheckpointPoints(const Clock& clock, Duration patience, Tell tell_scheduler)
      : clock_(clock), patience_(patience), tell_scheduler_(std::move(tell_scheduler)) {}

  const std::shared_ptr<CheckpointPointWord>& word() const { return word_; }
  /// The program could make a checkpoint of this step; `due` gets whether it must. One at a time.
  void offer(std::uint64_t step, Due due);
  /// The scheduler asks, or names the step from which on the first point must be taken.
  void on_asked(const control::AtStep& said);
  /// A checkpoint is being made, for any reason.
  void taken();
  /// The program continues after a checkpoint, which it called for at that time or after it was
  /// told that one was due. The scheduler learns how long the program was blocked.
  void returned(Time called);

  void tick();
  Time next_due() const { return waiting_ ? patience_.extended(waiting_->deadline) : Time::max(); }
  /// Patience::excuse.
  void excuse(Time now) { patience_.excuse(now); }
  bool idle() const { return !waiting_; }
  void end_all(const Status& why);

 private:
  struct Waiting {
    std::uint64_t step = 0;
    Due due;
    Time deadline;
  };
  void answer();
  bool is_asked() const { return is_open_ || from_ != 0; }

  const Clock& clock_;
  Patience patience_;
  const Tell tell_scheduler_;
  const std::shared_ptr<CheckpointPointWord> word_ = std::make_shared<CheckpointPointWord>();
  std::optional<Waiting> waiting_;
  bool is_open_ = false;    // The last question has no answer yet.
  std::uint64_t from_ = 0;  // The first point from this step on must be taken; 0: none.
  std::optional<Time> due_since_;
  Status ended_;
};

}  // namespace stretto
