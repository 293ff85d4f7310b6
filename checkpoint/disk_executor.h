// SPDX-License-Identifier: Apache-2.0
// DiskExecutor: runs blocking disk calls in the order of posting. Loops post jobs, and poll the
// results later.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "common/mutex.h"
#include "stretto/status.h"

namespace stretto::checkpoint {

class DiskExecutor {
 public:
  using Job = std::function<void()>;

  virtual ~DiskExecutor() = default;
  /// Objects that a job refers to must outlive it: every posted job runs. Thread: one.
  virtual void post(Job job) = 0;
};

/// Runs jobs at once, on the caller's thread: for simulated time, and in tests.
class InlineDiskExecutor final : public DiskExecutor {
 public:
  void post(Job job) override { job(); }
};

/// Runs jobs on a thread of its own. The destructor waits for all posted jobs.
class ThreadDiskExecutor final : public DiskExecutor {
 public:
  static Result<std::unique_ptr<ThreadDiskExecutor>> start();
  ~ThreadDiskExecutor() override;
  void post(Job job) override;

 private:
  void run();

  Mutex mutex_;
  Condition changed_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool ends_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace stretto::checkpoint
