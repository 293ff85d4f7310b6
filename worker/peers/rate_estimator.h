// SPDX-License-Identifier: Apache-2.0
// RateEstimator: what a worker's links to other machines carry together, from how many bytes the
// far ends have taken. What counts is a stretch in which more was waiting all the time, so that the
// links were the limit: of five such in a row the median, of all these lately the greatest.
#pragma once

#include <array>
#include <cstdint>

#include "common/windowed_max.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure: told of what was taken, it answers.
class RateEstimator {
 public:
  /// So many bytes have been taken in all; `busy`: more waits to be sent.
  void add(std::uint64_t taken_bytes, bool busy, Time now);
  /// Bytes a second; 0: not known.
  double rate() const { return seen_.get(); }

 private:
  static constexpr Duration kStretch = std::chrono::milliseconds(20);

  WindowedMax seen_{std::chrono::seconds(10)};
  std::array<double, 5> last_ = {};
  std::uint32_t in_a_row_ = 0;
  bool measures_ = false;
  Time since_ = {};
  std::uint64_t bytes_since_ = 0;
};

}  // namespace stretto
