// SPDX-License-Identifier: Apache-2.0
// DriftDetector: notices that a device under settled knobs is not what it was. Three windows in a
// row beyond three standard deviations, to the same side, of rate or of latency, are a change; so
// is a slow walk of the average away from where it began.
#pragma once

#include <vector>

#include "input/knobs.h"

namespace stretto::input {

/// Pure. Thread: one at a time.
class DriftDetector {
 public:
  /// What is usual from now on. `noise` is the relative standard deviation of one window's rate.
  void restart(double bytes_per_second, double latency_s, double noise);
  /// True if the device has changed.
  bool add(const Window& window);
  /// The last windows; after a change has been noticed, those that lie wholly after it.
  const std::vector<Window>& recent() const { return recent_; }

 private:
  // One measure: an average that follows slowly, and how far windows stray from it.
  struct Track {
    double usual = 0;
    double origin = 0;
    double variance = 0;
    int outside = 0;  ///< Windows in a row, negative below.
    bool follow(double value);
  };

  Track rate_;
  Track latency_;
  std::vector<Window> recent_;
};

}  // namespace stretto::input
