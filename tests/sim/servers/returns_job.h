// SPDX-License-Identifier: Apache-2.0
// ReturnsJob: a job of fixed size in simulated time, with production's scheduler, shards and
// workers. Servers, replacements included, and the scheduler are lost at any time. A simulated
// launcher starts a server when the scheduler waits for one, and a scheduler whenever one ends.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/job_steps.h"
#include "tests/sim/servers/returns_user.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/violation.h"

namespace stretto::sim {

/// Thread: the simulation's.
class ReturnsJob {
 public:
  explicit ReturnsJob(std::uint64_t seed, std::uint32_t replicas = 1,
                      bool scheduler_returns = false, bool moves = false, bool joins = false);

  /// Runs the job to its end, or to the first violation.
  std::optional<Violation> run();
  std::uint64_t lost() const { return lost_; }
  /// Servers started as replacements.
  std::uint64_t returned() const { return returned_; }
  /// Completed server migrations.
  std::uint64_t moved() const { return moved_; }
  /// Schedulers that replaced a lost one.
  std::uint64_t schedulers() const { return life_ - 1; }
  std::uint64_t values() const;
  bool ended_well() const { return scheduler_->status().ok(); }
  std::string describe() const;

 private:
  struct Process {
    std::string name;
    Config config;
    std::unique_ptr<LoopTask> agent;
    Shard* shard = nullptr;
    std::unique_ptr<ReturnsUser> user;
    bool alive = true;
    Time sleeps_until = {};
    std::optional<Time> has_all_since = {};  ///< Of a standby: in sync since.
    bool unwanted = false;                   ///< The job ends without it.
  };
  struct Start {
    std::uint32_t server = 0;
    Time at;
    bool scheduler = false;  ///< Starts a scheduler instead.
  };

  Config config_of(Role role, std::int64_t rank) const;
  Process& add(std::string name, const Config& config);
  void add_scheduler();
  void add_server(std::uint32_t server);
  void add_worker(std::uint32_t number);
  bool step_one();
  bool have_all_joined() const;
  Time next_strike() const;
  Time next_start() const;
  void strike();
  void note_dead_heirs();
  void drain();
  void join();
  void look_at_end(Process& server);
  void strike_scheduler(const ReturnsPlan::Strike& strike);
  void reset_a_link();
  bool is_last_holder(const Process& victim) const;
  void follow_scheduler();
  void note_unwanted(Rank server);
  bool is_in(const Process& server) const;
  bool over() const;
  void check_end();
  void report(const std::string& invariant, const std::string& text);

  const ReturnsPlan plan_;
  VirtualClock clock_;
  Random random_;
  SimNetwork network_;
  const Time began_;
  SimDisk disk_;
  std::vector<std::unique_ptr<Process>> processes_;
  const Scheduler* scheduler_ = nullptr;
  bool may_end_ = false;  // All processes in sync of a rank were lost.
  Process* scheduler_process_ = nullptr;
  std::uint32_t life_ = 0;
  std::size_t struck_ = 0;
  Time last_strike_ = {};
  std::size_t news_ = 0;    // The scheduler's loss reports that were handled,
  std::size_t orders_ = 0;  // and its migration orders.
  std::vector<Start> starts_;
  std::uint64_t lost_ = 0;
  std::uint64_t returned_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t names_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
