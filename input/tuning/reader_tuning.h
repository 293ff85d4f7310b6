// SPDX-License-Identifier: Apache-2.0
// ReaderTuning: the tuner of a reader. It evaluates each window's measurements and sets the knobs
// until the user does.
#pragma once

#include <string>

#include "common/mutex.h"
#include "input/formats/index.h"
#include "input/io/meter.h"
#include "input/tuning/controls.h"
#include "input/tuning/tuner.h"
#include "stretto/input.h"

namespace stretto::input {

/// Useful limits of the knobs: reads larger than contiguous data gain nothing.
TunerLimits limits_for(const Options& options, const Index& index);

/// Thread: loop; log(): any. One mutex.
class ReaderTuning {
 public:
  ReaderTuning(const TunerLimits& limits, Controls& controls, Meter& meter);

  /// When step() is due; Time::max(): never.
  Time due() const;
  /// If due: evaluates the window and sets the knobs. `for_others`: the part of the consumer's wait
  /// that was not for reads.
  void step(Time now, Duration for_others = {});
  /// Publishes the wanted bytes in flight in the meter's feed, and applies the limit there, for
  /// tuned and user-set knobs.
  void obey(Time now);
  /// Restarts the window after an idle time.
  void begin(Time now);
  /// Its log, a line for each trial.
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
