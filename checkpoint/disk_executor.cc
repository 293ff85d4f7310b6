// SPDX-License-Identifier: Apache-2.0
// A queue, and a thread that empties it.
#include "checkpoint/disk_executor.h"

#include <utility>

#include "common/threads/start_thread.h"

namespace stretto::checkpoint {

Result<std::unique_ptr<ThreadDiskExecutor>> ThreadDiskExecutor::start() {
  auto made = std::make_unique<ThreadDiskExecutor>();
  Status status = start_thread(made->thread_, [thread = made.get()] { thread->run(); });
  if (!status.ok()) return status;
  return made;
}

ThreadDiskExecutor::~ThreadDiskExecutor() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ThreadDiskExecutor::post(Job job) {
  {
    MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void ThreadDiskExecutor::run() {
  for (;;) {
    Job next;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !ends_) changed_.wait(mutex_);
      if (jobs_.empty()) return;
      next = std::move(jobs_.front());
      jobs_.pop_front();
    }
    next();
  }
}

}  // namespace stretto::checkpoint
