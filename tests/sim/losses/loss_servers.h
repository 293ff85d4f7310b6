// SPDX-License-Identifier: Apache-2.0
// LossServers: the servers of an elastic job with standbys or server migrations. Servers are lost
// at any time, except the last process in sync of a rank. A simulated launcher starts a replacement
// for each.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/sim/losses/loss_plan.h"
#include "tests/sim/random.h"

namespace stretto::sim {

/// Thread: the simulation's.
class LossServers {
 public:
  struct Ways {
    std::function<void(std::uint32_t number)> start;
    std::function<void(const std::string& name, bool is_told)> lose;
    std::function<void(const std::string& name)> drain;
  };

  LossServers(const LossPlan& plan, std::uint64_t seed, Ways ways)
      : plan_(plan), random_(seed), ways_(std::move(ways)) {}

  /// Performs the due actions; `alive`: names of the live processes.
  void act(Time now, const Scheduler& scheduler, const std::set<std::string>& alive);
  Time next_due() const;
  /// The time of the last loss.
  Time last_loss() const { return last_loss_; }
  /// True if a replacement was lost while in sync and promoted before that was detected: its state
  /// is lost, and the job ends.
  bool has_lost_heir() const { return lost_heir_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t started() const { return started_; }

 private:
  struct Start {
    std::uint32_t number = 0;
    Time at;
  };

  void strike(Time now, const Scheduler& scheduler, const std::set<std::string>& alive);
  bool hit(const LossPlan::ServerStrike& strike, const View& view,
           const std::set<std::string>& alive);
  void look_for_heirs(const View& view);
  void follow(Time now, const Scheduler& scheduler);
  void start_due(Time now, bool runs);

  const LossPlan& plan_;
  Random random_;
  const Ways ways_;
  std::size_t struck_ = 0;
  Time next_strike_ = Time::max();
  bool running_ = false;
  Time told_at_ = {};  // By then all know that the job runs.
  std::size_t news_ = 0;
  std::size_t orders_ = 0;
  std::set<std::string> going_;  // Draining servers.
  std::vector<Start> starts_;
  std::set<std::string> lost_names_;
  bool lost_heir_ = false;
  Time last_loss_ = {};
  std::uint64_t lost_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace stretto::sim
