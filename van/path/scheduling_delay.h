// SPDX-License-Identifier: Apache-2.0
// SchedulingDelay: how long a ready loop waits for a processor. Where programs share few cores,
// this delay makes credits late. Only the loop itself can distinguish it from a queue in the
// network.
#pragma once

#include "common/clock.h"
#include "common/threads/current_loop.h"

namespace stretto {

/// Thread: loop. Pure: it gets delays as arguments.
class SchedulingDelay {
 public:
  /// An iteration begins, or has ended: reads the clock if due.
  void begin_turn(const Clock& clock, const void* thread = CurrentLoop::this_thread());
  void end_turn(const Clock& clock);
  /// True if the next note() is due.
  bool is_due(Time now) const;
  /// `waited`: total scheduling delay so far.
  void note(Duration waited, Time now);
  /// Another thread drives, with a total of `waited`: none of it counts.
  void move(Duration waited) { waited_ = waited; }
  /// The delay at a random moment of all delayed time: longer delays count by their length. Zero
  /// where delays are short or rare.
  Duration typical() const { return typical_; }

 private:
  struct Sums {
    double seconds = 0;
    double squares = 0;
  };

  void end_interval(Time now);

  const void* driver_ = nullptr;
  Time driver_came_at_{};
  bool account_is_known_ = false;  // The driver's, since it came or was last read.
  Time looked_at_first_{};         // After a driver came.
  Time careful_until_{};           // Long delays were seen, or may have been missed.
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
