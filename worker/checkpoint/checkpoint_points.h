// SPDX-License-Identifier: Apache-2.0
// CheckpointPoints: where this worker's program could make a checkpoint, and whether it is due by
// the scheduler's clock. All workers make it at the same offer: the scheduler asks which was the
// last that each has let pass, and none lets another one pass before it knows which is to be taken.
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

/// The step of the last offer, and whether the loop must hear of the next one: in one word, so that
/// who asks knows which has passed, or will ask about. Thread: any.
class CheckpointPointWord {
 public:
  /// False, and nothing has changed, if the loop must hear of it.
  bool pass(std::uint64_t step) {
    std::uint64_t word = word_;
    do {
      if ((word & 1) != 0) return false;
    } while (!word_.compare_exchange_weak(word, step << 1));
    return true;
  }
  /// It is asked from now on, or is not. Returns the step that has passed last.
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

  /// An offer waits for an answer at most for `patience`.
  CheckpointPoints(const Clock& clock, Duration patience, Tell tell_scheduler)
      : clock_(clock), patience_(patience), tell_scheduler_(std::move(tell_scheduler)) {}

  const std::shared_ptr<CheckpointPointWord>& word() const { return word_; }
  /// The program could make one of this step, and hears whether it is due. One at a time.
  void offer(std::uint64_t step, Due due);
  /// The scheduler asks, or says from which step on the first offer is to be taken.
  void on_asked(const control::AtStep& said);
  /// One is being made, by whatever.
  void taken();
  /// The program goes on after a checkpoint; it had called for it at that time, and perhaps been
  /// told before that it was due. The scheduler hears how long it was held up.
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
  bool is_open_ = false;    // A question that has no answer yet.
  std::uint64_t from_ = 0;  // The first offer from this step on is to be taken; 0: none.
  std::optional<Time> due_since_;
  Status ended_;
};

}  // namespace stretto
