// SPDX-License-Identifier: Apache-2.0
// SchedulerSupervisor: what a launcher keeps of a scheduler that may be lost and come back: where
// it writes its journal, the how many-eth it is, whether it stands still, and of whose ends the
// next one is to hear.
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
  /// If it runs on this host, and the job may go on without it for a while, a folder for its
  /// journal is made in the first of `folders` where that can be done.
  SchedulerSupervisor(const Plan& plan, bool is_here, const std::vector<std::string>& folders);
  ~SchedulerSupervisor();
  SchedulerSupervisor(const SchedulerSupervisor&) = delete;
  SchedulerSupervisor& operator=(const SchedulerSupervisor&) = delete;

  /// Files and folders that this process may make in `folders`, and removes at its end.
  static std::vector<std::string> own_files(const std::vector<std::string>& folders);
  /// Why it does not come back though it was to; or ok.
  const Status& refusal() const { return refusal_; }
  /// It may come back, so often more.
  std::uint32_t restarts_left() const;

  /// What the one is told that is started now.
  SchedulerIncarnation begin_life(Time now);
  /// A member is run again in its own place.
  void note_restart() { ++restarts_; }
  /// A member has ended, or runs. A scheduler that has ended is not watched until the next life.
  void note_end(std::size_t member);
  void note_start(std::size_t member) { ended_.erase(member); }
  const std::set<std::size_t>& ended() const { return ended_; }

  /// It tells of a loss. Each scheduler tells of all, in their order: true if this is news.
  bool is_news();
  /// It has said something.
  void hear(Time now) {
    if (heard_at_) heard_at_ = now;
  }
  /// All have come together: from now on it is missed.
  void begin_watch() { watches_ = true; }
  /// True, once, if it has said nothing for too long. To be asked at deadline().
  bool is_missed(Time now);
  std::optional<Time> deadline() const;

 private:
  const std::uint32_t most_;
  const Duration silence_;
  Status refusal_;
  std::string folder_;  // Empty: it does not come back.
  std::uint32_t lives_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint64_t said_ = 0;   // Losses, by the scheduler that runs,
  std::uint64_t heard_ = 0;  // and by the one that has said most.
  std::set<std::size_t> ended_;
  bool watches_ = false;
  std::optional<Time> heard_at_;  // None: no life runs that could be missed.
  Time looked_at_ = {};
};

}  // namespace stretto::launch
