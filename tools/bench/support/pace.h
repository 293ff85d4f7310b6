// SPDX-License-Identifier: Apache-2.0
// Pace: computation that is emulated by sleeping. Sleeps end at absolute times, so that one late
// wake-up does not delay all later ones.
#pragma once

#include <vector>

#include "stretto/types.h"

namespace stretto::bench {

/// Thread: the creating one.
class Pace {
 public:
  /// Sets the timer slack of this thread to one nanosecond.
  Pace();

  /// Computes for `time`, from the end of the previous computation or of the last wait.
  void compute(Duration time);
  /// To be called after a wait: computation continues from now.
  void waited();

  /// The lateness of sleeps in microseconds, sorted.
  std::vector<double> lateness_us() const;

 private:
  Time due_;
  std::vector<double> lateness_us_;
};

}  // namespace stretto::bench
