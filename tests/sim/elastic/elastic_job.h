// SPDX-License-Identifier: Apache-2.0
// ElasticJob: a job in simulated time whose members join, leave and are replaced, and whose slots
// move. Views (ViewMachine), slots, collectors and stores are production's. The delivery of views
// and the retransmissions that they cause are simulated: no user API starts such a job yet.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/membership/view_machine.h"
#include "tests/sim/elastic/elastic_worker.h"

namespace stretto::sim {

/// Thread: the simulation's.
class ElasticJob {
 public:
  explicit ElasticJob(std::uint64_t seed);

  /// Runs the job to its end, or to the first violation.
  std::optional<Violation> run();

  /// Counts of events, for tests of seed coverage.
  struct Events {
    int joined = 0;
    int servers = 0;  ///< Servers that joined.
    int lost = 0;
    int noticed = 0;
    int moved = 0;
  };
  const Events& events() const { return events_; }

 private:
  static constexpr ProcessId kCoordinator = 0;

  struct Process {
    std::unique_ptr<ElasticWorker> worker;
    std::unique_ptr<ElasticServer> server;
    NodeId node = 0;
    bool alive = true;
    bool lost = false;  // Or about to be lost.
  };
  using WithRound = std::function<void(std::uint64_t)>;

  void gather();
  bool add_server_process(std::uint32_t rank);
  void add_worker_process();
  void plan_events();
  void strike();

  void come();
  void come_as_server();
  bool may_be_lost(ProcessId id, const std::vector<ProcessId>& workers) const;
  void lose(bool silently);
  void give_notice();
  void move_slots();

  void hold_all(WithRound then);
  void held(ProcessId process, std::uint64_t round);
  void stop_waiting_for(ProcessId process);
  void end_hold();
  std::vector<ViewOrder> tell_machine(const ViewEvent& event);
  void publish();
  void time_out();
  void spread(const SharedView& view, ProcessId to);

  Process* process_of(NodeId node);
  ProcessId id_of(NodeId node) const;
  void deliver_push(ProcessId from, const ElasticPush& push);
  void deliver_answer(ProcessId from, NodeId to, const ElasticAnswer& answer);
  std::vector<ProcessId> members(Role role);
  NodeId owner_of(const wire::Key& key) const;

  Random random_;
  Mail mail_;
  Ledger ledger_;
  Config config_;
  TensorSpec spec_;
  std::vector<wire::Key> keys_;
  std::uint32_t first_slot_ = 0;
  std::uint64_t rounds_ = 0;
  std::optional<ViewMachine> machine_;
  SharedView view_;  // As last published.
  std::vector<Process> processes_{1};
  struct Hold {  // Until all workers have paused and reported their last round.
    std::set<ProcessId> waits_for;
    std::uint64_t begun;
    WithRound then;
  };
  std::optional<Hold> hold_;
  std::deque<WithRound> holds_;
  std::set<std::uint32_t> moving_;
  Events events_;
};

}  // namespace stretto::sim
