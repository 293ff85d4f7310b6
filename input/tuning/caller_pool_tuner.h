// SPDX-License-Identifier: Apache-2.0
// The size of a decode pool whose consumer can do without: from no thread, where it decodes each
// sample when it takes it, to many. Whether a thread pays is not known from what the function
// costs, for it may hold a lock that the consumer wants too (Python's). So what counts is how many
// samples the consumer takes a second, with all that it does between two of them.
#pragma once

#include <string>

#include "input/tuning/pool_tuner.h"

namespace stretto::input {

/// What was seen in a window.
struct CallerWindow {
  Duration length;
  std::uint64_t samples;  ///< That the consumer took.
  Duration decoding;      ///< Of one of them, on average.
  Duration stall;         ///< How long the consumer decoded by itself, or waited for the pool.
};

/// Thread: one at a time.
class CallerPoolTuner {
 public:
  /// Begins with none.
  explicit CallerPoolTuner(std::uint32_t most, Duration window = 250ms)
      : tuner_(depth_of(0), depth_of(most), window) {}

  std::uint32_t threads() const { return threads_of(tuner_.threads()); }
  /// How long to measure next, at least.
  Duration window() const { return tuner_.window(); }
  void measured(Time now, const CallerWindow& window);
  bool settled() const { return tuner_.settled(); }
  /// Its diary, a line for each trial.
  std::string log() const;

 private:
  // The grid's ladder of depths begins at 1.
  static std::uint32_t depth_of(std::uint32_t threads) { return std::max(2 * threads, 1U); }
  static std::uint32_t threads_of(std::uint32_t depth) { return depth / 2; }

  PoolTuner tuner_;
};

}  // namespace stretto::input
