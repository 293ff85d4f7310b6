// SPDX-License-Identifier: Apache-2.0
// HeartbeatMonitor: the silence of a peer with a heartbeat every second, not counting time in which
// this process was stopped or its machine suspended: messages from that time are still unread.
// Pure: times in, times out.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/check.h"
#include "common/clock.h"

namespace stretto::launch {

/// Thread: loop.
class HeartbeatMonitor {
 public:
  /// If two look() calls, at most `every` apart, are at least kAsleep apart, this process was
  /// suspended.
  static constexpr Duration kAsleep = std::chrono::seconds(3);

  explicit HeartbeatMonitor(Duration every) : every_(every) { STRETTO_CHECK(every < kAsleep); }

  void hear(Time now) { heard_ = now; }
  /// Starts counting looks: before, no call was expected.
  void begin(Time now) { looked_ = now; }
  /// The silence so far. Call it at next_look() at the latest.
  Duration look(Time now) {
    STRETTO_CHECK(now >= looked_);
    const Duration asleep = now - std::exchange(looked_, now);
    if (asleep > kAsleep) heard_ += asleep;
    return now - heard_;
  }
  /// The same without a look(), also before messages from a suspension are read.
  Duration silence(Time now) const {
    const Duration asleep = now - looked_;
    return now - heard_ - (asleep > kAsleep ? asleep : Duration::zero());
  }
  /// When the peer was last heard, shifted by our suspensions.
  Time heard_at() const { return heard_; }
  /// `limit`: the silence that the caller tolerates.
  Time next_look(Duration limit) const { return std::min(heard_ + limit, looked_ + every_); }

 private:
  const Duration every_;
  Time heard_ = {};
  Time looked_ = {};  // When this process was last known to be awake.
};

}  // namespace stretto::launch
