// SPDX-License-Identifier: Apache-2.0
// Heartbeats: a node's heartbeats to the scheduler, when they are due, and the contents of the
// scheduler's heartbeats.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/input_account.h"
#include "observe/user_metrics.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class Heartbeats {
 public:
  /// A node's progress; the heartbeat adds what the Van knows.
  struct Progress {
    std::uint64_t rounds = 0;
    std::uint64_t staleness = 0;
    std::optional<InputTotals> input = {};  ///< None if the process reads no input.
    std::string waits_in = {};              ///< The longest blocking call, if it takes long.
    UserMetricValues reports = {};          ///< What the program reported since the last heartbeat.
    std::optional<control::Activity> activity = {};  ///< From a worker.
    std::string stack = {};                          ///< In the program's own language.
    std::vector<control::Chosen> chosen = {};        ///< From a worker, on a change.
  };

  /// For all later heartbeats.
  void set_progress(const Progress& progress);
  const Progress& progress() const { return progress_; }
  /// The total time that rounds waited for this worker's contributions; in a shard's next
  /// heartbeat.
  void set_held(Rank rank, Duration in_all) { held_[rank] = in_all; }
  /// In each of a shard's heartbeats until replaced.
  void set_long_waits(std::vector<control::LongWait> waits) { long_waits_ = std::move(waits); }

  /// From a shard: finished rounds, and ended stalls for the next heartbeat.
  void set_rounds(std::uint64_t done) { progress_.rounds = done; }
  void add_ended_wait(const control::EndedWait& wait);

  /// An observer requests this process's thread stacks: the next heartbeat has them, followed by
  /// the progress's `stack`.
  bool stack_wanted() const { return stack_wanted_; }

  /// The first heartbeat is due at `now`; Time::max(): this node exchanges no heartbeats.
  void begin(Time now) { next_ = now; }
  void end();
  bool due(Time now) const { return now >= next_; }
  Time next() const { return next_; }
  /// The due heartbeat; the next one is due after `interval`.
  control::Heartbeat take(const Van& van, Time now, Duration interval);
  /// Number of sent heartbeats.
  std::uint64_t sent() const { return sent_; }

  /// Handles a heartbeat from the scheduler.
  void hear(const control::Heartbeat& beat);
  /// The last report of the scheduler, as text, about workers in another call than this node's.
  const std::string& elsewhere() const { return elsewhere_; }
  /// Another worker is paused (Worker::pause()), as the scheduler last reported.
  bool others_pause() const { return others_pause_; }
  /// The scheduler's current limit of this process's reads in flight; 0: no limit.
  std::uint64_t input_limit_bytes() const { return input_limit_bytes_; }

 private:
  Time next_ = Time::max();
  std::uint64_t sent_ = 0;
  Progress progress_;
  std::map<Rank, Duration> held_;  // Not reported yet.
  std::vector<control::LongWait> long_waits_;
  std::vector<control::EndedWait> ended_waits_;  // Not reported yet.
  bool stack_wanted_ = false;
  std::string elsewhere_;
  bool others_pause_ = false;
  std::uint64_t input_limit_bytes_ = 0;
};

}  // namespace stretto
