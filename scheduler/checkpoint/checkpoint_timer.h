// SPDX-License-Identifier: Apache-2.0
// CheckpointTimer: when a checkpoint is due by the clock, and from which step on all workers make
// it. It asks each worker for its last step. Workers begin no later step before they get the
// answer: the first step that no worker has begun. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class CheckpointTimer {
 public:
  using Tell = std::function<void(NodeId, const control::AtStep&)>;

  /// Zero: no checkpoint is ever due.
  CheckpointTimer(Duration every, Tell tell) : every_(every), tell_(std::move(tell)) {}

  /// Sets the workers that can be asked; empty before the job starts. Asks new workers once a
  /// checkpoint is due.
  void follow(Time now, const std::vector<NodeId>& workers);
  void on_told(NodeId worker, const control::AtStep& said);
  /// Sets the interval from one checkpoint to the next, unless the next is due already.
  void set_every(Duration every);
  /// Makes the next checkpoint due now, unless the interval is zero.
  void hurry(Time now) {
    if (begun_ && every_ != Duration::zero()) due_ = std::min(due_, now);
  }
  /// Resumes after a scheduler restart, which lost the timer. The next checkpoint is due at once,
  /// so that a scheduler that fails repeatedly still makes some.
  void go_on(Time now);
  /// A checkpoint was begun, by the timer or by the program.
  void taken(Time now);

  /// A checkpoint is due, or the job has not started: follow() must be called.
  bool is_looking(Time now) const { return !begun_ || now >= due_; }
  /// When to look next, if no event happens.
  Time next_due() const { return is_open_ ? Time::max() : due_; }

 private:
  void decide();
  void count_from(Time now);

  Duration every_;
  const Tell tell_;
  Time due_ = Time::max();
  Time since_{};  // Start of the interval.
  bool begun_ = false;
  bool is_open_ = false;  // A checkpoint is due, and not begun yet.
  std::uint64_t question_ = 0;
  std::map<NodeId, std::optional<std::uint64_t>> told_;  // Asked workers.
  std::uint64_t from_ = 0;                               // The answer; 0: none yet.
};

}  // namespace stretto
