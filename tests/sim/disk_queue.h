// SPDX-License-Identifier: Apache-2.0
// DiskQueue: a process's thread for its disk in virtual time: what was posted is done later, in
// order, when its owner says so.
#pragma once

#include <deque>
#include <utility>

#include "checkpoint/disk_executor.h"

namespace stretto::sim {

/// Thread: the simulation's.
class DiskQueue final : public checkpoint::DiskExecutor {
 public:
  void post(Job job) override { jobs_.push_back(std::move(job)); }
  bool empty() const { return jobs_.empty(); }
  void run_one() {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    job();
  }
  void run_all() {
    while (!empty()) run_one();
  }
  void drop() { jobs_.clear(); }

 private:
  std::deque<Job> jobs_;
};

}  // namespace stretto::sim
