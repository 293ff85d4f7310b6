// SPDX-License-Identifier: Apache-2.0
// LossScheduler: the scheduler of an elastic job that is lost at moments that matter (somebody is
// on the way into the job, is lost and not missed yet, or all are asked for their steps) or at any
// other, and comes back from its journal; a launcher that is played here starts it again.
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

  /// The next one: it goes on from what those before have written, if there were any. Null, and
  /// that is reported, if it cannot.
  std::unique_ptr<Scheduler> make(Config& config, std::unique_ptr<Transport> transport,
                                  const Clock& clock);
  /// What is due; `misses`: somebody is lost who is still in the view.
  void act(Time now, const Scheduler& scheduler, bool misses);
  /// One has been lost, and the next is to be started.
  bool is_away() const { return starts_at_ != Time::max(); }
  Time next_due() const;
  /// By then all have found the last one that came.
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
  bool looks_ = false;            // For the moment of the strike that is due.
  Time since_ = {};               // That it has been in its place; a strike counts from then.
  Time starts_at_ = Time::max();  // The next one.
  Time settled_at_ = {};
};

}  // namespace stretto::sim
