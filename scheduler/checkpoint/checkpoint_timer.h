// SPDX-License-Identifier: Apache-2.0
// CheckpointTimer: when a checkpoint is due by the clock, and from which step on all workers make
// it. It asks each of them which it has let pass last; none lets another one pass before it hears
// the answer, which is one that nobody has let pass yet. Pure.
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

  /// Zero: none is ever due.
  CheckpointTimer(Duration every, Tell tell) : every_(every), tell_(std::move(tell)) {}

  /// These are in the job now, and can be told; none before it begins. Asks who has not been asked,
  /// once it is due.
  void follow(Time now, const std::vector<NodeId>& workers);
  void on_told(NodeId worker, const control::AtStep& said);
  /// So long after the last one was begun the next is due, unless it is already.
  void set_every(Duration every);
  /// The next is due now, if any ever is.
  void hurry(Time now) {
    if (begun_ && every_ != Duration::zero()) due_ = std::min(due_, now);
  }
  /// The job has begun, and who counted before is lost: the next is due at once, so that one who is
  /// lost again and again has some made.
  void go_on(Time now);
  /// One is being made, because it was due or since the program wanted it.
  void taken(Time now);

  /// It is due, or the job has not begun: who is in counts.
  bool is_looking(Time now) const { return !begun_ || now >= due_; }
  /// When to look next, if nothing happens.
  Time next_due() const { return is_open_ ? Time::max() : due_; }

 private:
  void decide();
  void count_from(Time now);

  Duration every_;
  const Tell tell_;
  Time due_ = Time::max();
  Time since_{};  // It counts from then.
  bool begun_ = false;
  bool is_open_ = false;  // It is due, and not taken yet.
  std::uint64_t question_ = 0;
  std::map<NodeId, std::optional<std::uint64_t>> told_;  // Of those who were asked.
  std::uint64_t from_ = 0;                               // The answer; 0: not yet.
};

}  // namespace stretto
