// SPDX-License-Identifier: Apache-2.0
// LossJob: an elastic job in simulated time, with production's scheduler, shards and workers.
// Workers are lost at any time; the survivors must continue, or end in order if too few are left.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/job_steps.h"
#include "tests/sim/losses/loss_scheduler.h"
#include "tests/sim/losses/loss_servers.h"
#include "tests/sim/losses/loss_user.h"
#include "tests/sim/losses/loss_visits.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_network.h"

namespace stretto::sim {

/// Thread: the simulation's.
class LossJob {
 public:
  /// Checks during the run: by the users, or none, so that only the history is judged.
  enum class Watched { kByUsers, kByNobody };

  explicit LossJob(std::uint64_t seed, Watched watched = Watched::kByUsers,
                   std::uint32_t replicas = 1,
                   LossPlan::Beside beside = LossPlan::Beside::kNothing);

  /// Runs the job to its end, or to the first violation.
  std::optional<Violation> run();
  /// Valid after run().
  const History& history() const { return board_.history; }

  std::size_t lost() const { return board_.lost.size(); }
  bool went_on() const { return went_on_; }
  /// Valid if servers have standbys.
  const LossServers& servers() const { return servers_; }
  /// Schedulers that replaced a lost one.
  std::uint64_t schedulers() const { return returning_.came(); }
  const LossVisits& visits() const { return visits_; }
  /// Completed server migrations.
  std::size_t moved() const { return moved_; }
  /// Workers that were admitted while the job ran.
  std::size_t joined() const { return board_.came.size(); }
  /// Of these, the workers that replaced a lost one.
  std::size_t came_again() const;
  std::string describe() const;

 private:
  struct Process {
    std::string name;
    std::uint32_t number = 0;
    Config config;
    std::unique_ptr<LoopTask> agent;
    WorkerNode* worker = nullptr;
    Shard* shard = nullptr;
    std::unique_ptr<LossUser> user;
    bool alive = true;
    Time sleeps_until = {};
  };

  Config config_of(Role role, std::int64_t rank) const;
  void add_scheduler();
  void lose_scheduler(Duration absence);
  void add_server(std::uint32_t server);
  void add_shard(std::uint32_t server, std::uint32_t shard, std::string name);
  void follow_servers();
  std::vector<Process*> shards_of(const std::string& server);
  void lose_server(const std::string& name, bool is_told);
  void drain_server(const std::string& name);
  void add_worker(std::uint32_t number, NodeId former = 0);
  bool step_one();
  void step(Process& process);
  void look_at_end(const Process& server);
  Time next_strike() const;
  void strike();
  std::vector<Process*> victims() const;
  void lose(Process& victim, LossKind kind);
  std::string other_end(const Process& victim);
  void break_a_link(const Process& victim, const LossPlan::Strike& strike);
  bool is_recovering() const;
  Time next_join() const;
  void start_joining();
  NodeId former_of(std::uint32_t newcomer);
  void note_returns();
  bool over() const;
  void check_end();
  void check_newcomer(const Process& process);
  void begin_history();
  void note_kept(const Process& process);
  History::End end_of(const Status& status) const;
  void end_history();
  void report(const std::string& invariant, const std::string& text);

  const LossPlan plan_;
  const Watched watched_;
  VirtualClock clock_;
  Random random_;
  SimNetwork network_;
  const Time began_;
  LossBoard board_{clock_};
  std::vector<std::unique_ptr<Process>> processes_;
  const Scheduler* scheduler_ = nullptr;
  Process* scheduler_process_ = nullptr;
  LossScheduler returning_;
  LossServers servers_;
  std::uint64_t names_ = 0;  // Servers that were started.
  std::size_t struck_ = 0;
  std::size_t started_ = 0;     // Joining workers that were started.
  Time not_before_ = {};        // A strike waits until all have joined,
  Time joins_not_before_ = {};  // and most joins wait for a free rank.
  bool went_on_ = false;
  std::size_t moved_ = 0;
  std::optional<Dip> dip_;
  std::set<std::string> dipped_;  // The ends of the dip's link.
  LossVisits visits_;
  /// A joining worker that names its previous incarnation and inherits that one's number.
  struct Return {
    NodeId former = 0;
    Rank number = 0;
    std::uint32_t newcomer = 0;   // Its number in the simulation.
    std::uint32_t out_since = 0;  // The first epoch without the former member.
  };
  std::vector<Return> returns_;
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
