// SPDX-License-Identifier: Apache-2.0
// Handoff: graceful handoff: requests a replacement from the scheduler and waits until it has taken
// over, is impossible, or times out.
#pragma once

#include <algorithm>
#include <optional>

#include "common/clock.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/control/control.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Thread: loop.
class Handoff {
 public:
  /// Drains for at most `patience`, if the job's servers are replaceable; else resigns at once.
  void begin(MembershipClient& membership, Time now, Duration patience);
  /// Call once per iteration: sends the request, and resigns if the handoff fails.
  void step(MembershipClient& membership, Van& van, Time now);

  /// Drains for at most `patience`. `kept`: it may leave once its standby is in sync.
  void begin(Time now, Duration patience, bool kept = false) {
    if (deadline_) return;
    deadline_ = now + patience;
    patience_ = patience;
    kept_ = kept;
  }
  bool begun() const { return deadline_.has_value(); }
  /// The scheduler's refusal; or, if ok, the standby is in sync.
  void hear(const Status& why) {
    if (begun() && refusal_.ok()) refusal_ = why;
    may_go_ = may_go_ || (kept_ && why.ok());
  }
  /// The request to the scheduler at this link: once per scheduler, as it may be restarted.
  std::optional<control::Move> question(LinkId scheduler);
  /// Why the server must leave now; ok: it waits.
  Status in_vain(Time now) const;
  /// Whether the scheduler is away, without which no replacement can take over.
  void look(bool is_away, Time now) {
    if (!is_away) away_since_.reset();
    if (is_away && !away_since_) away_since_ = now;
  }
  Time next_due() const {
    const Time missed = away_since_ ? *away_since_ + kMissed : Time::max();
    return std::min(missed, deadline_.value_or(Time::max()));
  }

 private:
  static constexpr Duration kMissed = std::chrono::seconds(6);  // Longer than a scheduler restart.

  std::optional<Time> deadline_;
  std::optional<Time> away_since_;  // While draining.
  Duration patience_{};
  LinkId asked_ = 0;
  bool kept_ = false;
  bool may_go_ = false;  // The standby is in sync.
  Status refusal_;
};

}  // namespace stretto
