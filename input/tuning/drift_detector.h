// SPDX-License-Identifier: Apache-2.0
// DriftDetector: detects a change of the device under settled knobs. Three consecutive windows
// beyond three standard deviations, on the same side, in rate or latency, are a change. So is a
// slow drift of the average away from its start.
#pragma once

#include <vector>

#include "input/knobs.h"

namespace stretto::input {

/// Pure. Thread: one at a time.
class DriftDetector {
 public:
  /// Sets the expected values. `noise` is the relative standard deviation of one window's rate.
  void restart(double bytes_per_second, double latency_s, double noise);
  /// True if the device has changed.
  bool add(const Window& window);
  /// The last windows; after a detected change, only windows that lie wholly after it.
  const std::vector<Window>& recent() const { return recent_; }

 private:
  // One measure: an average that follows slowly, and the deviation of windows from it.
  struct Track {
    double usual = 0;
    double origin = 0;
    double variance = 0;
    int outside = 0;  ///< Consecutive outliers, negative below.
    bool follow(double value);
  };

  Track rate_;
  Track latency_;
  std::vector<Window> recent_;
};

}  // namespace stretto::input
