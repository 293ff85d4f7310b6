// SPDX-License-Identifier: Apache-2.0
// HeartbeatMonitor: how long a peer that should be heard every second has been silent while this
// process could have heard it. What was sent while we were stopped, or our machine asleep, is still
// to be read, so that time is no silence. Pure: times in, times out.
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
  /// Between two looks, which are `every` apart at most, this process was awake for less than
  /// kAsleep.
  static constexpr Duration kAsleep = std::chrono::seconds(3);

  explicit HeartbeatMonitor(Duration every) : every_(every) { STRETTO_CHECK(every < kAsleep); }

  void hear(Time now) { heard_ = now; }
  /// From now on looks are counted: before, nobody was expected to look.
  void begin(Time now) { looked_ = now; }
  /// The silence so far. To be asked at next_look() at the latest.
  Duration look(Time now) {
    STRETTO_CHECK(now >= looked_);
    const Duration asleep = now - std::exchange(looked_, now);
    if (asleep > kAsleep) heard_ += asleep;
    return now - heard_;
  }
  /// The same, without a look: also before the first words after a sleep of ours are read.
  Duration silence(Time now) const {
    const Duration asleep = now - looked_;
    return now - heard_ - (asleep > kAsleep ? asleep : Duration::zero());
  }
  /// When the peer was heard last, or would have been heard if we had been awake.
  Time heard_at() const { return heard_; }
  /// `limit`: the silence that matters.
  Time next_look(Duration limit) const { return std::min(heard_ + limit, looked_ + every_); }

 private:
  const Duration every_;
  Time heard_ = {};
  Time looked_ = {};  // When we were last seen to be awake.
};

}  // namespace stretto::launch
