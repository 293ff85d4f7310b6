// SPDX-License-Identifier: Apache-2.0
// A mutex that clang's thread-safety analysis understands. std::mutex carries no annotations in
// libstdc++, so without this wrapper GUARDED_BY could not be checked.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define STRETTO_ANNOTATE(x) __attribute__((x))
#else
#define STRETTO_ANNOTATE(x)
#endif

#define GUARDED_BY(mutex) STRETTO_ANNOTATE(guarded_by(mutex))
#define REQUIRES(mutex) STRETTO_ANNOTATE(requires_capability(mutex))
#define EXCLUDES(mutex) STRETTO_ANNOTATE(locks_excluded(mutex))

namespace stretto {

/// Thread: any.
class STRETTO_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() STRETTO_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() STRETTO_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class STRETTO_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) STRETTO_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() STRETTO_ANNOTATE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition variable over a Mutex that the caller holds.
class Condition {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) { condition_.wait(mutex); }
  template <typename Deadline>
  std::cv_status wait_until(Mutex& mutex, Deadline deadline) REQUIRES(mutex) {
    return condition_.wait_until(mutex, deadline);
  }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace stretto
