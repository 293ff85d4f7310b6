// SPDX-License-Identifier: Apache-2.0
// DeliveryRate: the rate at which one peer, or all peers together, take data while the sender keeps
// them busy. The estimate is that of BBR (Cardwell et al., ACM Queue 14(5), 2016): the greatest
// rate of recent intervals.
#pragma once

#include <cstdint>

#include "common/windowed_max.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop. Pure.
class DeliveryRate {
 public:
  /// A rate expires after one to two times `span`.
  explicit DeliveryRate(Duration span) : rate_(span) {}

  /// A slice was submitted. `was_idle`: nothing was in flight before it. `more`: more data waits,
  /// so the network and not the program limits the rate.
  void on_sent(bool was_idle, bool more, Time now);
  /// The peers have taken `taken_bytes` in all. `is_idle`: nothing is in flight now. An interval
  /// lasts at least `least`.
  void on_taken(std::uint64_t taken_bytes, bool is_idle, Duration least, Time now);
  /// Bytes a second; 0 if no interval has ended yet.
  double get() const { return rate_.get(); }

 private:
  WindowedMax rate_;
  Time since_ = {};
  Time idle_since_ = {};
  std::uint64_t taken_bytes_ = 0;  // At the interval's begin.
  bool busy_ = true;               // More data waited throughout.
  bool growing_ = true;            // The last interval was the fastest by far.
};

}  // namespace stretto
