// SPDX-License-Identifier: Apache-2.0
// A stretch ends with the first call after its time; it does not count if the queue ran empty.
#include "worker/peers/rate_estimator.h"

#include <algorithm>

namespace stretto {

void RateEstimator::add(std::uint64_t taken_bytes, bool busy, Time now) {
  if (!measures_ || !busy || taken_bytes < bytes_since_) {
    measures_ = busy;
    in_a_row_ = 0;
    since_ = now;
    bytes_since_ = taken_bytes;
    return;
  }
  const Duration took = now - since_;
  if (took < kStretch) return;
  last_[in_a_row_ % last_.size()] =
      static_cast<double>(taken_bytes - bytes_since_) / std::chrono::duration<double>(took).count();
  since_ = now;
  bytes_since_ = taken_bytes;
  if (++in_a_row_ < last_.size()) return;
  std::array<double, 5> sorted = last_;
  std::ranges::sort(sorted);
  seen_.add(sorted[sorted.size() / 2], now);
}

}  // namespace stretto
