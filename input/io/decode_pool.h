// SPDX-License-Identifier: Apache-2.0
// DecodePool: the user's function, run on samples in oneTBB's threads; how many at once can be
// changed at any time.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "input/io/tbb_parallelism.h"
#include "stretto/input.h"

namespace stretto::input {

/// Most samples that are decoded at once.
inline constexpr std::uint32_t kMostDecoders = kMostPoolThreads;

/// Thread: any. One mutex. Destroying it lets those end that have begun, and drops the others.
class DecodePool {
 public:
  /// A sample, what became of it, and the name that it was submitted with.
  struct Ended {
    std::uint64_t tag = 0;
    Sample sample;
    Status status;
    Duration took{};
  };

  /// `ended` is called, on any thread, when there is something to take.
  DecodePool(Decode decode, std::uint32_t threads, const Clock& clock, std::function<void()> ended);
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool();

  void submit(std::uint64_t tag, Sample sample);
  /// Those that have ended, in whatever order they did.
  std::vector<Ended> take();
  void set_threads(std::uint32_t threads);

 private:
  struct Job {
    std::uint64_t tag = 0;
    Sample sample;
  };

  void start();
  void work();
  bool next(Job& job);

  const Decode decode_;
  const Clock& clock_;
  const std::function<void()> ended_;
  Mutex mutex_;
  Condition idle_;
  std::deque<Job> waiting_ GUARDED_BY(mutex_);
  std::vector<Ended> done_ GUARDED_BY(mutex_);
  std::uint32_t threads_ GUARDED_BY(mutex_);
  std::uint32_t working_ GUARDED_BY(mutex_) = 0;
  MoreThreads permitted_;
  tbb::task_arena arena_;
};

}  // namespace stretto::input
