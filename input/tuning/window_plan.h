// SPDX-License-Identifier: Apache-2.0
// WindowPlan: the length of a measurement, and whether it is representative. After a change of the
// knobs a ramp is discarded, until earlier requests have completed. By Little's law rate * latency
// is the amount in flight, which reveals windows with requests of the previous setting.
#pragma once

#include <cstdint>

#include "input/knobs.h"
#include "input/tuning/tuner_limits.h"

namespace stretto::input {

/// Pure. Thread: one at a time. Rates are expected bytes per second; 0: unknown.
class WindowPlan {
 public:
  explicit WindowPlan(const TunerLimits& limits) : limits_(limits) {}

  /// Length of the next measurement.
  Duration length() const { return length_; }
  /// The next measurement must be discarded.
  bool is_ramp() const { return ramp_; }

  /// The knobs have changed; `bytes`: total in flight before and after.
  void begin_ramp(std::uint64_t bytes, double rate);
  /// Starts a window long enough for the requests of these knobs.
  void begin_window(const Knobs& knobs, double rate);
  /// Whether the window was long enough for its requests, and had only what these knobs
  /// allow in flight. If not, the next one is longer; after a few of them any window is accepted.
  bool is_telling(const Window& window, const Knobs& knobs);

 private:
  TunerLimits limits_;
  bool ramp_ = true;
  Duration length_{};
  std::uint32_t remeasured_ = 0;  // Consecutive windows that were not representative.
};

}  // namespace stretto::input
