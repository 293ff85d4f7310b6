// SPDX-License-Identifier: Apache-2.0
// WindowPlan: how long a setting is measured, and whether what was measured tells of it. After a
// change of the knobs a ramp is thrown away: what was in flight has to come in first. By Little's
// law rate * latency is what was in flight, which tells windows that hold requests of the setting
// before.
#pragma once

#include <cstdint>

#include "input/knobs.h"
#include "input/tuning/tuner_limits.h"

namespace stretto::input {

/// Pure. Thread: one at a time. Rates are bytes a second that may be expected; 0: nothing is known.
class WindowPlan {
 public:
  explicit WindowPlan(const TunerLimits& limits) : limits_(limits) {}

  /// How long to measure next.
  Duration length() const { return length_; }
  /// What is measured next is to be thrown away.
  bool is_ramp() const { return ramp_; }

  /// The knobs have been changed, with so many bytes in flight before and after together.
  void begin_ramp(std::uint64_t bytes, double rate);
  /// A window long enough for the requests of these knobs.
  void begin_window(const Knobs& knobs, double rate);
  /// Whether the window was long enough for its requests, and held no more than these knobs could
  /// have in flight. If not, the next one is longer; after a few of them any is taken.
  bool is_telling(const Window& window, const Knobs& knobs);

 private:
  TunerLimits limits_;
  bool ramp_ = true;
  Duration length_{};
  std::uint32_t remeasured_ = 0;  // Windows in a row that told nothing.
};

}  // namespace stretto::input
