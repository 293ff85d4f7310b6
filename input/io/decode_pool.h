// SPDX-License-Identifier: Apache-2.0
// DecodePool: runs the user's function on samples in oneTBB's threads. The number of concurrent
// calls can change at any time.
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

/// Thread: any. One mutex. The destructor waits for running calls and drops the others.
class DecodePool {
 public:
  /// A sample, its result, and the tag of its submission.
  struct Ended {
    std::uint64_t tag = 0;
    Sample sample;
    Status status;
    Duration took{};
  };

  /// Calls `ended`, on any thread, when take() has samples.
  DecodePool(Decode decode, std::uint32_t threads, const Clock& clock, std::function<void()> ended);
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool();

  void submit(std::uint64_t tag, Sample sample);
  /// Removes and returns the finished samples, in order of completion.
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
