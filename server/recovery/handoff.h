// SPDX-License-Identifier: Apache-2.0
// Handoff: a server that is to go asks the scheduler that another have its place, until it has,
// or it cannot be, or it takes too long.
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
  /// It is to go, if it is a member of a job that can, and has so long; else it goes at once.
  void begin(MembershipClient& membership, Time now, Duration patience);
  /// Once a turn: asks, and has the server go where that is in vain.
  void step(MembershipClient& membership, Van& van, Time now);

  /// It is to go, and has so long. `kept`: who has its place then stands by for it.
  void begin(Time now, Duration patience, bool kept = false) {
    if (deadline_) return;
    deadline_ = now + patience;
    patience_ = patience;
    kept_ = kept;
  }
  bool begun() const { return deadline_.has_value(); }
  /// The scheduler says why not; or, if it is ok, that the other has all by now.
  void hear(const Status& why) {
    if (begun() && refusal_.ok()) refusal_ = why;
    may_go_ = may_go_ || (kept_ && why.ok());
  }
  /// What the scheduler at this link is to be asked, once: whoever comes in its place is, too.
  std::optional<control::Move> question(LinkId scheduler);
  /// Why it goes by itself; ok: it waits.
  Status in_vain(Time now) const;
  /// Whether the scheduler is away, which alone could have another take the place.
  void look(bool is_away, Time now) {
    if (!is_away) away_since_.reset();
    if (is_away && !away_since_) away_since_ = now;
  }
  Time next_due() const {
    const Time missed = away_since_ ? *away_since_ + kMissed : Time::max();
    return std::min(missed, deadline_.value_or(Time::max()));
  }

 private:
  static constexpr Duration kMissed = std::chrono::seconds(6);  // More than another takes to come.

  std::optional<Time> deadline_;
  std::optional<Time> away_since_;  // While it is to go.
  Duration patience_{};
  LinkId asked_ = 0;
  bool kept_ = false;
  bool may_go_ = false;  // As who stands by has all.
  Status refusal_;
};

}  // namespace stretto
