// SPDX-License-Identifier: Apache-2.0
// SchedulerSupervisor: the launcher's state of a restartable scheduler: the folder of its journal,
// its incarnation, its heartbeat, and the exits that a new incarnation must learn.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// Thread: loop.
class SchedulerSupervisor {
 public:
  /// If the scheduler runs on this host and may restart, creates a folder for its journal in the
  /// first usable one of `folders`.
  SchedulerSupervisor(const Plan& plan, bool is_here, const std::vector<std::string>& folders);
  ~SchedulerSupervisor();
  SchedulerSupervisor(const SchedulerSupervisor&) = delete;
  SchedulerSupervisor& operator=(const SchedulerSupervisor&) = delete;

  /// Files and folders that this process may create in `folders`, and removes at its end.
  static std::vector<std::string> own_files(const std::vector<std::string>& folders);
  /// Why the scheduler cannot restart although it should; or ok.
  const Status& refusal() const { return refusal_; }
  /// Restarts left for the scheduler.
  std::uint32_t restarts_left() const;

  /// Settings of the incarnation that starts now.
  SchedulerIncarnation begin_life(Time now);
  /// A member is restarted in place.
  void note_restart() { ++restarts_; }
  /// A member has ended, or runs. An ended scheduler is not watched until the next incarnation.
  void note_end(std::size_t member);
  void note_start(std::size_t member) { ended_.erase(member); }
  const std::set<std::size_t>& ended() const { return ended_; }

  /// The scheduler reports a loss. Each incarnation reports all in order: true if this is news.
  bool is_news();
  /// The scheduler has printed a line.
  void hear(Time now) {
    if (heard_at_) heard_at_ = now;
  }
  /// All members have joined: from now on silence is a failure.
  void begin_watch() { watches_ = true; }
  /// True, once, if the scheduler was silent too long. Call it at deadline().
  bool is_missed(Time now);
  std::optional<Time> deadline() const;

 private:
  const std::uint32_t most_;
  const Duration silence_;
  Status refusal_;
  std::string folder_;  // Empty: the scheduler is not restarted.
  std::uint32_t lives_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint64_t said_ = 0;   // Losses reported by the running scheduler,
  std::uint64_t heard_ = 0;  // and the largest number by any.
  std::set<std::size_t> ended_;
  bool watches_ = false;
  std::optional<Time> heard_at_;  // None: no incarnation is watched.
  Time looked_at_ = {};
};

}  // namespace stretto::launch
