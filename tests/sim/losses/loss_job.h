// SPDX-License-Identifier: Apache-2.0
// LossJob: an elastic job as users start it, in simulated time: production's scheduler, shards and
// workers. Workers are lost at any time; the others must go on, or end in order if too few are
// left.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/losses/loss_user.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_network.h"

namespace stretto::sim {

/// Thread: the simulation's.
class LossJob {
 public:
  explicit LossJob(std::uint64_t seed);

  /// Runs it to its end, or to the first violation.
  std::optional<Violation> run();

  std::size_t lost() const { return board_.lost.size(); }
  bool went_on() const { return went_on_; }
  std::string describe() const;

 private:
  struct Process {
    std::string name;
    std::uint32_t number = 0;
    Config config;
    std::unique_ptr<Agent> agent;
    WorkerNode* worker = nullptr;
    std::unique_ptr<LossUser> user;
    bool alive = true;
    Time sleeps_until = {};
  };

  Config config_of(Role role, std::int64_t rank) const;
  void add_scheduler();
  void add_shard(std::uint32_t server, std::uint32_t shard);
  void add_worker(std::uint32_t number);
  bool step_one();
  void step(Process& process);
  Time next_strike() const;
  void strike();
  bool over() const;
  void check_end();
  void report(const std::string& invariant, const std::string& text);

  const LossPlan plan_;
  VirtualClock clock_;
  Random random_;
  SimNetwork network_;
  const Time began_;
  LossBoard board_;
  std::vector<std::unique_ptr<Process>> processes_;
  const Scheduler* scheduler_ = nullptr;
  std::size_t struck_ = 0;
  Time not_before_ = {};  // A strike waits until all have come together.
  bool went_on_ = false;
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
