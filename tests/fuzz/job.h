// SPDX-License-Identifier: Apache-2.0
// Job: honest nodes, hostile peers, and the honest user of a worker on one simulated network,
// driven in virtual time like the simulator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/fuzz/peer.h"
#include "worker/node.h"
#include "worker/operations/call_plan.h"

namespace stretto::fuzz {

inline constexpr const char* kSchedulerAddress = "scheduler:9000";
inline constexpr Duration kOperationTimeout = 20s;

Config config_for(Role role, std::uint32_t workers, std::uint32_t servers);

/// Thread: the simulation's.
class Job {
 public:
  Job();

  sim::SimNetwork& network() { return network_; }
  const Clock& clock() const { return clock_; }

  /// `name` names the node's endpoint. The configs must outlive the job.
  Scheduler& add_scheduler(const Config& config);
  Shard& add_shard(const Config& config);
  /// `address`: where other nodes can connect to the worker; empty: nowhere.
  WorkerNode& add_worker(const Config& config, const std::string& name,
                         const std::string& address = {});
  void add_peer(Peer& peer) { peers_.push_back(&peer); }

  /// Lets time pass: every node and peer is stepped on arrivals and when due.
  void run_for(Duration duration);
  /// Until `done()` holds, at most for `limit`; returns whether it holds.
  template <typename Done>
  bool run_until(Duration limit, Done done) {
    const Time end = clock_.now() + limit;
    while (!done() && clock_.now() < end) run_one(end);
    return done();
  }

 private:
  struct Node {
    std::string name;
    std::unique_ptr<LoopTask> agent;
    const Van* van = nullptr;
    bool gone = false;
  };

  void run_one(Time end);
  bool step_all();
  void add(const std::string& name, std::unique_ptr<LoopTask> agent, const Van& van);

  sim::VirtualClock clock_;
  sim::SimNetwork network_;
  std::vector<std::unique_ptr<Config>> configs_;
  std::vector<Node> nodes_;
  std::vector<Peer*> peers_;
  std::uint64_t turns_at_one_time_ = 0;
};

/// An operation that a user began, and its result.
struct Outcome {
  std::optional<Status> status;
  std::vector<float> target;
  int ends = 0;
};

/// Begins an operation with its own memory, which is freed the moment it ends.
std::shared_ptr<Outcome> begin(WorkerNode& worker, Operation::Kind kind, const Tensor& tensor,
                               float share);
/// As above, for a group call with memory of these sizes.
std::shared_ptr<Outcome> begin_call(WorkerNode& worker, const Tensor& group, GroupCallArgs call,
                                    std::size_t source_bytes, std::size_t target_bytes);

}  // namespace stretto::fuzz
