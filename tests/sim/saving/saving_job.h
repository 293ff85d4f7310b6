// SPDX-License-Identifier: Apache-2.0
// SavingJob: a program's successive jobs in simulated time, with production's scheduler, shards and
// workers, on a disk that loses and tears unsynced data. Each job must resume from a complete
// checkpoint that is one consistent cut.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/disk_queue.h"
#include "tests/sim/job_steps.h"
#include "tests/sim/saving/saving_user.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/violation.h"

namespace stretto::sim {

/// Thread: the simulation's.
class SavingJob {
 public:
  explicit SavingJob(std::uint64_t seed);

  /// Runs all jobs, or up to the first violation.
  std::optional<Violation> run();
  /// Jobs that resumed from a checkpoint.
  std::uint64_t resumed() const { return resumed_; }
  /// Of these, from a checkpoint whose completion was reported to no worker.
  std::uint64_t untold() const { return untold_; }
  std::uint64_t failures() const { return past_.failures; }
  std::string describe() const;

 private:
  struct Process {
    std::string name;
    Config config;
    DiskQueue work;  // Before the agent, which refers to it.
    std::unique_ptr<LoopTask> agent;
    std::unique_ptr<SavingUser> user;
    bool alive = true;
    Time sleeps_until = {};
  };

  Config config_of(Role role, std::int64_t rank) const;
  Process& add(std::string name, const Config& config);
  void begin_life();
  void look_at_found(const Config& config);
  void look_at_attached(std::uint64_t number, const Lineage& steps);
  void add_server(std::uint32_t server);
  void add_worker(std::uint32_t number);
  void run_life();
  bool step_one();
  void strike();
  void fail_a_call();
  bool over() const;
  void check_end();
  void report(const std::string& invariant, const std::string& text);

  const SavingPlan plan_;
  VirtualClock clock_;
  Random random_;
  SimDisk disk_;
  SavingPast past_;
  std::size_t life_ = 0;
  std::unique_ptr<SimNetwork> network_;
  std::vector<std::unique_ptr<Process>> processes_;
  Scheduler* scheduler_ = nullptr;
  Time began_ = {};
  std::optional<Time> strikes_at_;
  bool struck_ = false;
  bool dead_ = false;  // All processes ended.
  std::uint64_t resumed_ = 0;
  std::uint64_t untold_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
