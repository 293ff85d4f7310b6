// SPDX-License-Identifier: Apache-2.0
// Pace: computation that is emulated by sleeping. Sleeps end at absolute times, so that waking up
// late once does not make all that follows late.
#pragma once

#include <vector>

#include "stretto/types.h"

namespace stretto::bench {

/// Thread: the one that made it.
class Pace {
 public:
  /// The kernel may delay this thread's timers by no more than a nanosecond from now on.
  Pace();

  /// Computes for so long, from the end of the computation before or from the last wait.
  void compute(Duration time);
  /// Something had to be waited for: computation goes on from now.
  void waited();

  /// How late sleeps ended, in microseconds, from the shortest to the longest.
  std::vector<double> lateness_us() const;

 private:
  Time due_;
  std::vector<double> lateness_us_;
};

}  // namespace stretto::bench
