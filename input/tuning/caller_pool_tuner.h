// SPDX-License-Identifier: Apache-2.0
// Tunes the size of a decode pool that may be empty, so that the consumer decodes each sample when
// it takes it. The cost of decoding does not show whether a thread pays, for decoding may hold a
// lock that the consumer needs too (Python's). So the tuner maximises the samples that the consumer
// takes per second.
#pragma once

#include <string>

#include "input/tuning/pool_tuner.h"

namespace stretto::input {

/// Measurements of a window.
struct CallerWindow {
  Duration length;
  std::uint64_t samples;  ///< Taken by the consumer.
  Duration decoding;      ///< Average per sample.
  Duration stall;         ///< How long the consumer decoded samples, or waited for the pool.
};

/// Thread: one at a time.
class CallerPoolTuner {
 public:
  /// Starts without threads.
  explicit CallerPoolTuner(std::uint32_t most, Duration window = 250ms)
      : tuner_(depth_of(0), depth_of(most), window) {}

  std::uint32_t threads() const { return threads_of(tuner_.threads()); }
  /// Minimum length of the next measurement.
  Duration window() const { return tuner_.window(); }
  void measured(Time now, const CallerWindow& window);
  bool settled() const { return tuner_.settled(); }
  /// Its log, a line for each trial.
  std::string log() const;

 private:
  // The search grid's depths begin at 1.
  static std::uint32_t depth_of(std::uint32_t threads) { return std::max(2 * threads, 1U); }
  static std::uint32_t threads_of(std::uint32_t depth) { return depth / 2; }

  PoolTuner tuner_;
};

}  // namespace stretto::input
