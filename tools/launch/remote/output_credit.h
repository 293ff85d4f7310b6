// SPDX-License-Identifier: Apache-2.0
// OutputCredit: credit-based flow control of an agent's output, at the receiver. The agent may have
// a window of bytes in flight. Consumed bytes are credited, but not while a stream is paused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/check.h"

namespace stretto::launch {

/// Thread: loop.
class OutputCredit {
 public:
  explicit OutputCredit(std::int64_t window) : window_(window) {}

  void take(std::size_t bytes) { owed_ += static_cast<std::int64_t>(bytes); }
  void pause(std::size_t stream, bool paused) {
    STRETTO_CHECK(stream < paused_.size());
    paused_[stream] = paused;
  }
  /// The credit to send now; 0: none. Credit is sent in large pieces, since one frame per line
  /// would be too many.
  std::int64_t take_due() {
    if (paused_[0] || paused_[1] || owed_ < window_ / 4) return 0;
    return std::exchange(owed_, 0);
  }

 private:
  const std::int64_t window_;
  std::array<bool, 2> paused_{};  // stdout, stderr.
  std::int64_t owed_ = 0;         // Credit for consumed output.
};

}  // namespace stretto::launch
