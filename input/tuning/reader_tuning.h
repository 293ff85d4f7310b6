// SPDX-License-Identifier: Apache-2.0
// ReaderTuning: the tuner in a reader. It takes what was measured in each window and turns the
// knobs, until somebody else turns them.
#pragma once

#include <string>

#include "common/mutex.h"
#include "input/formats/index.h"
#include "input/io/meter.h"
#include "input/tuning/controls.h"
#include "input/tuning/tuner.h"
#include "stretto/input.h"

namespace stretto::input {

/// Between which knobs it is worth to search: reads larger than what lies side by side do nothing.
TunerLimits limits_for(const Options& options, const Index& index);

/// Thread: loop, but log(), which is for any. One mutex.
class ReaderTuning {
 public:
  ReaderTuning(const TunerLimits& limits, Controls& controls, Meter& meter);

  /// When it wants to be stepped; Time::max(): never again.
  Time due() const;
  /// If it is due: takes the window and turns the knobs. So much of the time that the consumer has
  /// waited was for something else than the reads.
  void step(Time now, Duration for_others = {});
  /// Says in the meter's feed what is wanted in flight, and keeps to the limit that stands there,
  /// whoever turns the knobs.
  void obey(Time now);
  /// Nothing was read for a while: what was measured so far tells nothing.
  void begin(Time now);
  /// Its diary, a line for each trial.
  std::string log();

 private:
  void turn(Time now) REQUIRES(mutex_);

  Controls& controls_;
  Meter& meter_;
  Time end_;  // Of the window.
  std::uint64_t limit_bytes_ = 0;
  Mutex mutex_;
  Tuner tuner_ GUARDED_BY(mutex_);
};

}  // namespace stretto::input
