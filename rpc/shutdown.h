// SPDX-License-Identifier: Apache-2.0
// Shutdown: the phases of an endpoint's end, each with a time limit. Pure: the time and the van's
// state in, the phase out.
//
//   open --begin()--> draining --answers sent, or timeout--> lingering --peers notified,
//   or timeout--> over
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "common/check.h"
#include "common/clock.h"

namespace stretto::rpc {

/// Thread: loop.
class Shutdown {
 public:
  enum class Phase : std::uint8_t { kOpen, kDraining, kLingering, kOver };
  static constexpr Duration kLongestDrain = std::chrono::seconds(5);   ///< To send answers.
  static constexpr Duration kLongestLinger = std::chrono::seconds(2);  ///< To notify peers.

  Phase phase() const { return phase_; }
  bool begun() const { return phase_ != Phase::kOpen; }

  void begin(Time now) {
    STRETTO_CHECK(phase_ == Phase::kOpen);
    enter(Phase::kDraining, now + kLongestDrain);
  }
  /// True once while draining: close all links now. `idle`: the send queue is empty.
  bool take_drained(bool idle, Time now) {
    if (phase_ != Phase::kDraining || (!idle && now < until_)) return false;
    enter(Phase::kLingering, now + kLongestLinger);
    return true;
  }
  /// `lingers`: a peer has not been notified yet that its link is closed.
  void on_links_closed(bool lingers, Time now) {
    if (phase_ == Phase::kLingering && (!lingers || now >= until_)) abandon();
  }
  /// Skips the remaining phases.
  void abandon() { enter(Phase::kOver, Time::max()); }

  /// When the phase ends at the latest.
  Time deadline() const { return until_; }

 private:
  void enter(Phase phase, Time until) {
    STRETTO_CHECK(phase > phase_);
    phase_ = phase;
    until_ = until;
  }

  Phase phase_ = Phase::kOpen;
  Time until_ = Time::max();
};

}  // namespace stretto::rpc
