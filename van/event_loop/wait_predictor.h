// SPDX-License-Identifier: Apache-2.0
// WaitPredictor: whether a thread that posts a request to a loop is about to wait for it, and would
// drive the loop for the result.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace stretto {

/// Thread: any, one at a time. Pure. It expects a wait after two requests that were waited for;
/// each miss doubles that number.
class WaitPredictor {
 public:
  auto operator<=>(const WaitPredictor&) const = default;

  bool expects_wait() const { return met_ >= needed_; }
  /// The thread waited for a request before another thread read it.
  void met() {
    if (++met_ < kForgiven) return;
    met_ = kForgiven;
    needed_ = kLeast;
  }
  /// It did not: another request came, or the loop's own thread had to read it.
  void missed() {
    met_ = 0;
    needed_ = std::min(2 * needed_, kMost);
  }

 private:
  static constexpr std::uint32_t kLeast = 2;
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint32_t kForgiven = 256;  // Consecutive hits that clear the misses.

  std::uint32_t met_ = 0;
  std::uint32_t needed_ = kLeast;
};

}  // namespace stretto
