// SPDX-License-Identifier: Apache-2.0
// DiskExecutor: where calls to a disk are made that may block, in the order in which they were
// asked for. Loops ask for them, and look later at what came of it.
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
  /// All that a job refers to outlives it: what has been asked for is done. Thread: one.
  virtual void post(Job job) = 0;
};

/// At once, on the caller's thread: where time is simulated, and in tests.
class InlineDiskExecutor final : public DiskExecutor {
 public:
  void post(Job job) override { job(); }
};

/// On a thread of its own. What was posted is done before it ends.
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
