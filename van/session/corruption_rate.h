// SPDX-License-Identifier: Apache-2.0
// CorruptionRate: how often frames of one session came corrupted lately. One is chance, and costs a
// new link; several in a minute are a cable, a card or memory that somebody should look at.
#pragma once

#include <array>
#include <cstddef>

#include "common/clock.h"

namespace stretto {

/// Thread: loop. Pure: it is told times.
class CorruptionRate {
 public:
  /// More than so many within that time are told, once in that time.
  static constexpr std::size_t kMost = 3;
  static constexpr Duration kLately = std::chrono::minutes(1);

  /// One more came; true if it is to be told.
  bool note(Time now);

 private:
  std::array<Time, kMost> last_{};  // When the last ones came, by turns.
  std::size_t count_ = 0;
  Time told_until_ = Time::min();
};

}  // namespace stretto
