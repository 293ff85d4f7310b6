// SPDX-License-Identifier: Apache-2.0
// Tunes the size of the decode pool by the same search along one dimension. Its depth is the number
// of threads; the caller counts deliveries in samples or bytes.
//
// Two tuners on one pipeline do not disturb each other if each sees only its own stage. For the
// tuner of the reads the pool is the consumer, and it waits when it has nothing to decode. For this
// tuner the program is the consumer, and it waits only while the pool is busy. So only the tuner of
// the bottleneck stage probes.
#pragma once

#include <string>

#include "input/tuning/tuner.h"

namespace stretto::input {

/// "climb   4 decode threads  3500 samples/s +-0.4 %  1.10 ms each: depth x 4: faster", and a
/// newline.
std::string describe_pool(const Trial& trial, std::uint32_t threads);

/// Thread: one at a time.
class PoolTuner {
 public:
  /// From one thread to `most`, beginning with `first`.
  PoolTuner(std::uint32_t first, std::uint32_t most, Duration window = 250ms)
      : tuner_(limits(first, most, window)) {}

  std::uint32_t threads() const { return tuner_.knobs().depth; }
  Duration window() const { return tuner_.window(); }
  /// `window`: the pool's deliveries, the time for a sample, and the program's wait while the pool
  /// was busy.
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
