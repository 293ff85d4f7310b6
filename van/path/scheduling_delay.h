// SPDX-License-Identifier: Apache-2.0
// SchedulingDelay: how long a loop waits for a processor when it waits. Where programs take turns
// on few cores that is what makes credits late, and only the loop itself can tell it from a queue
// in the network.
#pragma once

#include "common/clock.h"
#include "common/threads/current_loop.h"

namespace stretto {

/// Thread: loop. Pure: told of what was waited, it answers.
class SchedulingDelay {
 public:
  /// A turn of the loop begins here, or has ended: looks at the clock if it is time to.
  void begin_turn(const Clock& clock, const void* thread = CurrentLoop::this_thread());
  void end_turn(const Clock& clock);
  /// True if it is time for another note().
  bool is_due(Time now) const;
  /// So long has been waited in all.
  void note(Duration waited, Time now);
  /// The loop has come to a thread that has waited so long in all: none of that counts.
  void move(Duration waited) { waited_ = waited; }
  /// The wait that one meets at a random moment of those that were spent waiting: long ones count
  /// by their length. Zero where waiting is short or rare.
  Duration typical() const { return typical_; }

 private:
  struct Sums {
    double seconds = 0;
    double squares = 0;
  };

  void end_interval(Time now);

  const void* driver_ = nullptr;
  Time driver_came_at_{};
  bool account_is_known_ = false;  // The driver's, as of when it came or was looked at last.
  Time looked_at_first_{};         // When a driver came.
  Time careful_until_{};           // Long waits have been seen, or may have been missed.
  bool begun_ = false;
  Time noted_at_ = {};
  Duration waited_{};
  Time since_ = {};
  Sums now_;
  Sums before_;
  Duration length_before_{};
  Duration typical_{};
};

}  // namespace stretto
