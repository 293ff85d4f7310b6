// SPDX-License-Identifier: Apache-2.0
// WaitingThreads: which threads of the program wait in calls of a loop's owner. Every wait is
// counted, so this takes no clock and no lock; a caller compares consecutive look() results.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace stretto {

/// Thread: any.
class WaitingThreads {
 public:
  /// Marks a waiting thread during its lifetime.
  class Wait {
   public:
    explicit Wait(WaitingThreads& threads) : threads_(threads) {
      thread_local const pid_t kSelf = ::gettid();
      threads_.last_.store(kSelf, std::memory_order_relaxed);
      threads_.begun_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Wait() { threads_.ended_.fetch_add(1, std::memory_order_relaxed); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    WaitingThreads& threads_;
  };

  struct Look {
    std::uint64_t waits = 0;  ///< Started so far.
    bool any = false;         ///< Some thread waits now.
    pid_t last = 0;           ///< The last thread that started to wait; 0: none.
  };
  Look look() const {
    const std::uint64_t ended = ended_.load(std::memory_order_relaxed);
    const std::uint64_t begun = begun_.load(std::memory_order_relaxed);
    return {.waits = begun, .any = begun > ended, .last = last_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<pid_t> last_{0};
};

}  // namespace stretto
