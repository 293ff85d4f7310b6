// SPDX-License-Identifier: Apache-2.0
// LossScheduler: the scheduler of an elastic job. It is lost at critical moments (a worker joins, a
// loss is undetected, all workers report their steps) or at others, and restarts from its journal.
// A simulated launcher starts it again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "scheduler/scheduler.h"
#include "tests/sim/losses/loss_plan.h"
#include "tests/sim/sim_disk.h"

namespace stretto::sim {

/// Thread: the simulation's.
class LossScheduler {
 public:
  struct Ways {
    std::function<void(Duration absence)> lose;
    std::function<void()> start;
    std::function<void(const std::string& invariant, const std::string& text)> report;
  };

  LossScheduler(const LossPlan& plan, std::uint64_t seed, Ways ways)
      : plan_(plan), disk_(seed), ways_(std::move(ways)) {}

  /// Starts the next scheduler from the journal of the previous ones, if there were any. Reports a
  /// violation and returns null if it cannot.
  std::unique_ptr<Scheduler> make(Config& config, std::unique_ptr<Transport> transport,
                                  const Clock& clock);
  /// Performs the due actions; `misses`: a lost member is still in the view.
  void act(Time now, const Scheduler& scheduler, bool misses);
  /// True from a loss until the next scheduler is started.
  bool is_away() const { return starts_at_ != Time::max(); }
  Time next_due() const;
  /// By then all members have found the last scheduler.
  Time settled_at() const { return settled_at_; }
  std::uint64_t came() const { return life_ == 0 ? 0 : life_ - 1; }

 private:
  bool is_the_moment(const Scheduler& scheduler, bool misses) const;

  const LossPlan& plan_;
  SimDisk disk_;
  const Ways ways_;
  std::uint32_t life_ = 0;
  std::size_t struck_ = 0;
  bool running_ = false;
  bool looks_ = false;            // Waits for the due strike's moment.
  Time since_ = {};               // Start of this scheduler; strikes count from then.
  Time starts_at_ = Time::max();  // The next scheduler.
  Time settled_at_ = {};
};

}  // namespace stretto::sim
