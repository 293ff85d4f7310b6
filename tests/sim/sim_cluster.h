// SPDX-License-Identifier: Apache-2.0
// SimCluster: a whole job (scheduler, shards, workers) on one thread in virtual time. Only
// transport and clock differ from production. The invariants are checked after every step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/plan.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_observer.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/violation.h"
#include "worker/node.h"

namespace stretto::sim {

/// Thread: the simulation's.
class SimCluster {
 public:
  explicit SimCluster(const Plan& plan);

  /// Runs the job to its end, or to the first violation.
  std::optional<Violation> run();

  std::uint64_t trace_hash() const { return network_.trace_hash(); }
  std::uint64_t steps() const { return steps_; }
  /// Cut links whose sessions continued.
  std::uint64_t mended() const { return mended_; }
  /// Answers that observers received.
  std::uint64_t observed() const;
  Duration virtual_time() const { return clock_.now() - began_; }

 private:
  struct Node {
    std::string name;
    Config config;
    std::unique_ptr<Transport> transport;  // Until it starts.
    std::unique_ptr<LoopTask> agent;       // Null until then.
    Time starts;
    Scheduler* scheduler = nullptr;
    Shard* shard = nullptr;
    WorkerNode* worker = nullptr;
    std::unique_ptr<SimWorker> user;
    bool alive = true;
    bool gone = false;  // Over, and its endpoint closed.
    Time paused_until;
  };
  struct Harm {
    Strike strike;
    Time at;
    std::vector<std::string> victims;
  };

  struct Tool {
    std::string name;
    SimObserver observer;
  };

  void add_nodes();
  void add_tools();
  void start(Node& node);
  void start_scheduler(Node& node);
  void start_shard(Node& node);
  void start_worker(Node& node);
  std::string missing_node() const;

  bool step_one();
  void step(Node& node);
  void step(Tool& tool);
  bool finished() const;
  Time next_event() const;

  Time next_strike() const;
  void strike();
  void end_abruptly(const Strike& strike);
  void pause(Node& node, const Strike& strike);
  void cut_some_link(const Strike& strike);
  const Node* some_busy_worker();
  bool lasts(const Node& a, const Node& b) const;
  void cut_and_mend(LinkCut how);
  void dip(const Strike& strike);
  void end_dip();
  bool cut(const std::string& a, const std::string& b, LinkCut how);
  void begin_hostility();
  void hostile_turn();

  void check_after_step(const Node& node);
  void check_windows(const Node& node, const Van& van);
  void check_view(const View& view);
  void check_slots(const Node& node);
  std::uint64_t check_part(const Node& node, const Part& part);
  void check_contributors(const Part& part);
  void check_acknowledged(const Node& node);
  void check_liveness();
  void check_end();
  void check_survivor(const Node& node, const Status& status);
  Time harmed_at(const Harm& harm) const;
  bool harmless() const;
  Time deadline() const;
  Status status_of(const Node& node) const;
  void report(const std::string& invariant, const std::string& text);

  Plan plan_;
  VirtualClock clock_;
  Random random_;
  SimNetwork network_;
  Time began_;
  std::string scheduler_address_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Tool>> tools_;
  BarrierBoard barriers_;
  std::optional<Violation> violation_;
  std::uint64_t steps_ = 0;
  std::size_t struck_ = 0;   // Strikes of the timeline that have happened,
  std::vector<Harm> harms_;  // and those that hit a process still in the job.
  std::uint64_t mended_ = 0;
  struct Dip {
    std::string a;
    std::string b;
    Time until;
  };
  std::optional<Dip> dip_;  // At most one: successive dips could exceed the dead time.
  Duration paused_{};       // The sum of all pauses.
  std::unique_ptr<Transport> stranger_;
  int hostile_turns_ = 0;
  View view_;  // As last published.
  std::map<std::pair<std::string, std::string>, std::uint64_t> part_versions_;
};

}  // namespace stretto::sim
