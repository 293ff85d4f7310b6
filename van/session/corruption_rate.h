// SPDX-License-Identifier: Apache-2.0
// CorruptionRate: how often a session's frames were corrupted recently. One is chance, and costs a
// reconnect; several in a minute indicate a bad cable, card or memory.
#pragma once

#include <array>
#include <cstddef>

#include "common/clock.h"

namespace stretto {

/// Thread: loop. Pure: it gets times as arguments.
class CorruptionRate {
 public:
  /// More than kMost within kLately are reported, once in kLately.
  static constexpr std::size_t kMost = 3;
  static constexpr Duration kLately = std::chrono::minutes(1);

  /// Counts a corrupted frame; true if the caller should report it.
  bool note(Time now);

 private:
  std::array<Time, kMost> last_{};  // Ring of their times.
  std::size_t count_ = 0;
  Time told_until_ = Time::min();
};

}  // namespace stretto
