// SPDX-License-Identifier: Apache-2.0
// RateEstimator: the joint rate of a worker's links to other machines, from the bytes that peers
// have acknowledged. A stretch counts if more was waiting all the time, so that the links were the
// limit. The rate is the recent maximum of the medians of five such stretches in a row.
#pragma once

#include <array>
#include <cstdint>

#include "common/windowed_max.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure.
class RateEstimator {
 public:
  /// `taken_bytes` have been acknowledged in all; `busy`: more waits to be sent.
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
