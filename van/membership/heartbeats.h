// SPDX-License-Identifier: Apache-2.0
// Heartbeats: a node's signs of life to the scheduler: when the next is due, what it tells, and
// what the scheduler's tell this node.
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
  /// What they tell of a node's way; what its Van knows comes of itself.
  struct Progress {
    std::uint64_t rounds = 0;
    std::uint64_t staleness = 0;
    std::optional<InputTotals> input = {};  ///< None if the process reads nothing.
    std::string waits_in = {};              ///< The call that has waited longest, if that is long.
    UserMetricValues reports = {};          ///< What the program has reported since the last one.
    std::optional<control::Activity> activity = {};  ///< Of a worker.
    std::string stack = {};                          ///< Of the program's own language.
    std::vector<control::Chosen> chosen = {};        ///< Of a worker, where it has changed.
  };

  /// For those from now on.
  void set_progress(const Progress& progress);
  const Progress& progress() const { return progress_; }
  /// The next one of a shard tells it: rounds have now waited for this worker's shares so long in
  /// all.
  void set_held(Rank rank, Duration in_all) { held_[rank] = in_all; }
  /// A shard's tell it until it is set anew.
  void set_long_waits(std::vector<control::LongWait> waits) { long_waits_ = std::move(waits); }

  /// Of a shard: rounds done, and waits for some that were long; the next one tells of these.
  void set_rounds(std::uint64_t done) { progress_.rounds = done; }
  void add_ended_wait(const control::EndedWait& wait);

  /// Somebody has asked what this process's threads do: the next one tells it, and after that what
  /// the progress says of it.
  bool stack_wanted() const { return stack_wanted_; }

  /// The first is due then; Time::max(): this node shows no life, and is told nothing.
  void begin(Time now) { next_ = now; }
  void end();
  bool due(Time now) const { return now >= next_; }
  Time next() const { return next_; }
  /// The one that is due; the next comes so much later.
  control::Heartbeat take(const Van& van, Time now, Duration interval);
  /// Sent so far.
  std::uint64_t sent() const { return sent_; }

  /// One of the scheduler's.
  void hear(const control::Heartbeat& beat);
  /// Where others are, in words, as the scheduler last said while we wait in the same call.
  const std::string& elsewhere() const { return elsewhere_; }
  /// Another worker pauses (Worker::pause()), by the scheduler's last word.
  bool others_pause() const { return others_pause_; }
  /// What the scheduler last said that this process's readers may have in flight; 0: no limit.
  std::uint64_t input_limit_bytes() const { return input_limit_bytes_; }

 private:
  Time next_ = Time::max();
  std::uint64_t sent_ = 0;
  Progress progress_;
  std::map<Rank, Duration> held_;  // That the scheduler has yet to hear.
  std::vector<control::LongWait> long_waits_;
  std::vector<control::EndedWait> ended_waits_;  // That the scheduler has yet to hear.
  bool stack_wanted_ = false;
  std::string elsewhere_;
  bool others_pause_ = false;
  std::uint64_t input_limit_bytes_ = 0;
};

}  // namespace stretto
