// SPDX-License-Identifier: Apache-2.0
// Job: honest nodes and hostile peers on one simulated network, driven in virtual time as the
// simulator drives them, and the honest user of a worker.
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

  /// The nodes' endpoints have these names. The configs live as long as the job.
  Scheduler& add_scheduler(const Config& config);
  Shard& add_shard(const Config& config);
  /// At `address` others can call it; empty: nobody can.
  WorkerNode& add_worker(const Config& config, const std::string& name,
                         const std::string& address = {});
  void add_peer(Peer& peer) { peers_.push_back(&peer); }

  /// Lets time pass: every node and peer is stepped when something came or is due.
  void run_for(Duration duration);
  /// Until `done()` holds, but not longer; whether it does.
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

/// What a user began, and how it ended.
struct Outcome {
  std::optional<Status> status;
  std::vector<float> target;
  int ends = 0;
};

/// Begins an operation with memory of its own, which is given back the moment it ends.
std::shared_ptr<Outcome> begin(WorkerNode& worker, Operation::Kind kind, const Tensor& tensor,
                               float share);
/// The same with a call of a group, and memory of so many bytes.
std::shared_ptr<Outcome> begin_call(WorkerNode& worker, const Tensor& group, GroupCallArgs call,
                                    std::size_t source_bytes, std::size_t target_bytes);

}  // namespace stretto::fuzz
