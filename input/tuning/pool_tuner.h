// SPDX-License-Identifier: Apache-2.0
// The size of the decode pool, by the same search along one dimension: threads are its depth, and
// what they deliver is counted in samples or bytes, as the caller likes.
//
// Two tuners on one pipeline do not disturb each other as long as each is told of its own stage: to
// that of the reads the pool is the consumer, and it waits when there is nothing to decode; to this
// one the program is, and it waits only while there is something to decode. So of the two only that
// of the stage that holds the other up ever probes.
#pragma once

#include <string>

#include "input/tuning/tuner.h"

namespace stretto::input {

/// "climb   4 decode threads  3500 samples/s +-0.4 %  1.10 ms each: depth x 4: faster", and the end
/// of the line.
std::string describe_pool(const Trial& trial, std::uint32_t threads);

/// Thread: one at a time.
class PoolTuner {
 public:
  /// From one thread to `most`, beginning with `first`.
  PoolTuner(std::uint32_t first, std::uint32_t most, Duration window = 250ms)
      : tuner_(limits(first, most, window)) {}

  std::uint32_t threads() const { return tuner_.knobs().depth; }
  Duration window() const { return tuner_.window(); }
  /// `window` is of the pool: what it delivered, how long a sample took, and how long the program
  /// waited while the pool had something to do.
  void measured(Time now, const Window& window) { tuner_.measured(now, window); }
  bool settled() const { return tuner_.settled(); }
  std::span<const Trial> trials() const { return tuner_.trials(); }

 private:
  static TunerLimits limits(std::uint32_t first, std::uint32_t most, Duration window) {
    TunerLimits limits;
    limits.least = {1, 1};
    limits.most = {most, 1};
    limits.first = {first, 1};
    limits.window = window;
    return limits;
  }

  Tuner tuner_;
};

}  // namespace stretto::input
