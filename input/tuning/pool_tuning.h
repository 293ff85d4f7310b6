// SPDX-License-Identifier: Apache-2.0
// PoolTuning: tunes the decode pool of a reader. It attributes the consumer's wait to a stage: to
// the pool while that had work, otherwise to the reads. It sets the number of threads until the
// user does.
#pragma once

#include <atomic>
#include <string>

#include "common/mutex.h"
#include "input/io/meter.h"
#include "input/tuning/pool_tuner.h"
#include "stretto/input.h"

namespace stretto::input {

/// Thread: loop, unless marked any. One mutex.
class PoolTuning {
 public:
  PoolTuning(const Options& options, Meter& meter);

  /// Number of decoding threads. Thread: any.
  std::uint32_t threads() const { return threads_.load(); }
  /// Fixes the number of threads. Thread: any.
  void set_threads(std::uint32_t threads);
  /// Its log, a line for each trial. Thread: any.
  std::string log();

  /// Restarts the window after an idle time.
  void begin(Time now);
  /// The pool has become busy or idle.
  void busy(Time now, bool is);
  /// A sample has been decoded, successfully or not, in time `took`.
  void decoded(Duration took) { latencies_.add(took); }
  /// When step() is due; Time::max(): never.
  Time due() const { return tuned_.load() ? end_ : Time::max(); }
  /// If due: sets the number of threads.
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
