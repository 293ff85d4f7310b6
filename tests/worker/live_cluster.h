// SPDX-License-Identifier: Apache-2.0
// A whole job in one process over ZeroMQ: scheduler and shards on threads of their own, as in their
// programs, and workers made through the public API.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/disk_executor.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/files/real_disk.h"
#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "stretto/worker.h"

namespace stretto::live {

struct Plan {
  std::uint32_t workers = 2;
  std::uint32_t shards = 2;  ///< Of one server; 0: no server.
  JobSettings job = {};
  Duration operation_timeout = 60s;
  TransportChoice transport = TransportChoice::kAuto;
  CheckpointSettings checkpoint = {};
};

/// Thread: user.
class Cluster {
 public:
  explicit Cluster(const Plan& plan = {});
  /// Ends the threads, in any state of the job.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// The options with which a worker joins this job; rank -1: the scheduler chooses the rank.
  Options options(std::int64_t rank = -1) const;
  /// Each worker joins and runs `program` on a thread of its own, and then leaves if it is still
  /// in. Returns when all have left.
  void run(const std::function<void(Worker&)>& program) const;
  /// The shards stop running, like stopped processes.
  void freeze_shards() { halt_shards_.store(true, std::memory_order_release); }
  /// Waits until scheduler and shards have ended without being stopped; returns their statuses.
  std::vector<Status> outcomes();

 private:
  /// Runs a party to its end, keeps its status, and destroys it, as the end of its process would.
  template <typename Party>
  void drive(std::unique_ptr<Party>& party, Status& outcome, const std::atomic<bool>& halt) {
    threads_.emplace_back([this, &party, &outcome, &halt] {
      stretto::run(*party, clock_, halt);
      if (!party->over()) stop_.wait(false);
      outcome = party->status();
      party.reset();
    });
  }

  Plan plan_;
  const SteadyClock clock_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> halt_shards_{false};
  std::vector<std::unique_ptr<Config>> configs_;
  RealDisk disk_;
  std::unique_ptr<checkpoint::ThreadDiskExecutor> disk_thread_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Status> outcomes_;  // The scheduler's, then the shards'.
  std::string address_;
  std::vector<std::jthread> threads_;
};

}  // namespace stretto::live
