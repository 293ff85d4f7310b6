// SPDX-License-Identifier: Apache-2.0
// LoggedCount: selects which of many similar events to log, so that a flood does not fill the log.
#pragma once

#include <bit>
#include <cstdint>

namespace stretto {

/// Thread: one at a time.
class LoggedCount {
 public:
  /// Counts an event. True for the first, the second, the fourth, the eighth and so on.
  bool add() { return std::has_single_bit(++events_); }
  std::uint64_t events() const { return events_; }

 private:
  std::uint64_t events_ = 0;
};

}  // namespace stretto
