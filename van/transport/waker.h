// SPDX-License-Identifier: Apache-2.0
// Waker: lets other threads wake a loop while its transport exists. A lease may end, and a request
// be posted, while a loop is being destroyed.
#pragma once

#include <atomic>

#include "common/mutex.h"
#include "van/transport/transport.h"

namespace stretto {

/// Thread: any.
class Waker {
 public:
  explicit Waker(Transport& transport) : transport_(&transport) {}
  void wake() {
    MutexLock lock(mutex_);
    if (looks_) {
      woken_.store(true, std::memory_order_relaxed);
    } else if (transport_ != nullptr) {
      transport_->wake();
    }
  }
  /// Disables wake(). The transport may then be destroyed.
  void silence() {
    MutexLock lock(mutex_);
    transport_ = nullptr;
  }

  /// During its lifetime its owner checks for wakes, which then cost no system call. Wakes not
  /// taken are left to the next poll. Thread: loop, one at a time.
  class Look {
   public:
    explicit Look(Waker& waker) : waker_(waker) {
      MutexLock lock(waker_.mutex_);
      waker_.looks_ = true;
    }
    ~Look() {
      MutexLock lock(waker_.mutex_);
      waker_.looks_ = false;
      if (take() && waker_.transport_ != nullptr) waker_.transport_->wake();
    }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

    /// True if there was a wake since the last call.
    bool take() {
      return waker_.woken_.load(std::memory_order_relaxed) &&
             waker_.woken_.exchange(false, std::memory_order_relaxed);
    }

   private:
    Waker& waker_;
  };

 private:
  Mutex mutex_;
  Transport* transport_ GUARDED_BY(mutex_);
  bool looks_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> woken_ = false;  // Set only during a Look.
};

}  // namespace stretto
