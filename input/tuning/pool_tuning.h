// SPDX-License-Identifier: Apache-2.0
// PoolTuning: the tuner of the decode pool in a reader. It tells for which stage the consumer
// waited, for the pool while that had something to do and else for the reads; and turns the number
// of threads, until somebody else turns it.
#pragma once

#include <atomic>
#include <string>

#include "common/mutex.h"
#include "input/io/meter.h"
#include "input/tuning/pool_tuner.h"
#include "stretto/input.h"

namespace stretto::input {

/// Thread: loop; what says so, any. One mutex.
class PoolTuning {
 public:
  PoolTuning(const Options& options, Meter& meter);

  /// How many are to decode. Thread: any.
  std::uint32_t threads() const { return threads_.load(); }
  /// From now on so many, whatever is measured. Thread: any.
  void set_threads(std::uint32_t threads);
  /// Its diary, a line for each trial. Thread: any.
  std::string log();

  /// Nothing was decoded for a while: what was measured so far tells nothing.
  void begin(Time now);
  /// The pool has something to do from now on, or has nothing any more.
  void busy(Time now, bool is);
  /// A sample has been decoded, well or not, and took so long.
  void decoded(Duration took) { latencies_.add(took); }
  /// When it wants to be stepped; Time::max(): never again.
  Time due() const { return tuned_.load() ? end_ : Time::max(); }
  /// If it is due: turns the number of threads.
  void step(Time now);
  /// How long the consumer has waited for the pool since this was last called.
  Duration take_stall(Time now);

 private:
  void count_stall(Time now);
  void turn(Time now) REQUIRES(mutex_);

  Meter& meter_;
  std::atomic<std::uint32_t> threads_;
  std::atomic<bool> tuned_;
  bool busy_ = false;
  Duration stall_{};            // For the pool, in this window,
  Duration stall_for_reads_{};  // and since the tuner of the reads asked.
  Latencies latencies_;
  Time begun_{};
  Time end_ = Time::max();
  Mutex mutex_;
  PoolTuner tuner_ GUARDED_BY(mutex_);
};

}  // namespace stretto::input
