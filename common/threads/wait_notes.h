// SPDX-License-Identifier: Apache-2.0
// WaitNotes: when to log that a wait still lasts: after 10 s, and then every 60 s. Pure.
#pragma once

#include <optional>

#include "common/clock.h"

namespace stretto {

/// Thread: loop.
class WaitNotes {
 public:
  static constexpr Duration kFirst = 10s;
  static constexpr Duration kNext = 60s;

  explicit WaitNotes(Time begun) : begun_(begun), due_(begun + kFirst) {}

  /// How long the wait has lasted, if a note is due now.
  std::optional<Duration> take(Time now) {
    if (now < due_) return std::nullopt;
    due_ = now + kNext;
    return now - begun_;
  }
  Time next_due() const { return due_; }

 private:
  Time begun_;
  Time due_;
};

}  // namespace stretto
