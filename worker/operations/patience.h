// SPDX-License-Identifier: Apache-2.0
// Patience: how long a call may wait for other workers. While a worker pauses (Worker::pause()) no
// call is late, and afterwards each has the full time again. Pure.
#pragma once

#include <algorithm>

#include "common/clock.h"

namespace stretto {

/// Thread: loop.
class Patience {
 public:
  explicit Patience(Duration lasts) : lasts_(lasts) {}

  Duration lasts() const { return lasts_; }
  /// The deadline of a call that begins now, if no worker pauses.
  Time deadline(Time now) const { return after(now, lasts_); }
  /// Another worker pauses now.
  void excuse(Time now) { excused_ = now; }
  /// The deadline, extended by pauses.
  Time extended(Time deadline) const {
    return excused_ == Time() ? deadline : std::max(deadline, after(excused_, lasts_));
  }

 private:
  Duration lasts_;
  Time excused_;
};

}  // namespace stretto
