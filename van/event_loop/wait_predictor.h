// SPDX-License-Identifier: Apache-2.0
// WaitPredictor: whether who asks a loop for something is about to wait for it, and would drive the
// loop to get it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace stretto {

/// Thread: any, one at a time. Pure. It trusts a habit after two requests that were waited for, and
/// each disappointment makes it ask for twice as many.
class WaitPredictor {
 public:
  auto operator<=>(const WaitPredictor&) const = default;

  bool expects_wait() const { return met_ >= needed_; }
  /// A request was waited for before anybody else looked at it.
  void met() {
    if (++met_ < kForgiven) return;
    met_ = kForgiven;
    needed_ = kLeast;
  }
  /// It was not: another request came, or the loop's own thread had to look.
  void missed() {
    met_ = 0;
    needed_ = std::min(2 * needed_, kMost);
  }

 private:
  static constexpr std::uint32_t kLeast = 2;
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint32_t kForgiven = 256;  // In a row: as if it had never been missed.

  std::uint32_t met_ = 0;
  std::uint32_t needed_ = kLeast;
};

}  // namespace stretto
