// SPDX-License-Identifier: Apache-2.0
// HandingOver: a server that is to go asks the scheduler that another have its place, until it has,
// or it cannot be, or it takes too long.
#pragma once

#include <optional>

#include "common/clock.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/control.h"
#include "van/membership.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class HandingOver {
 public:
  /// It is to go, if it is a member of a job that can, and has so long; else it goes at once.
  void begin(Membership& membership, Time now, Duration patience);
  /// Once a turn: asks, and has the server go where that is in vain.
  void step(Membership& membership, Van& van, Time now);

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
  Time next_due() const { return deadline_.value_or(Time::max()); }

 private:
  std::optional<Time> deadline_;
  Duration patience_{};
  LinkId asked_ = 0;
  bool kept_ = false;
  bool may_go_ = false;  // As who stands by has all.
  Status refusal_;
};

}  // namespace stretto
