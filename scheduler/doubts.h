// SPDX-License-Identifier: Apache-2.0
// Doubts: links between members of which one end says that they broke. Mostly one of the two is
// lost, and that is known a moment later. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "common/clock.h"
#include "scheduler/view_events.h"

namespace stretto {

/// Thread: loop.
class Doubts {
 public:
  /// A report counts once until it is due.
  void add(const Suspicion& suspicion, Time due) {
    const bool known = std::ranges::any_of(doubts_, [&](const Doubt& doubt) {
      return doubt.of.reporter == suspicion.reporter && doubt.of.subject == suspicion.subject;
    });
    if (!known) doubts_.push_back({.of = suspicion, .due = due});
  }
  /// Those that have waited long enough for another cause. They are doubts no longer.
  std::vector<Suspicion> take_due(Time now) {
    std::vector<Suspicion> taken;
    for (const Doubt& doubt : doubts_) {
      if (now >= doubt.due) taken.push_back(doubt.of);
    }
    std::erase_if(doubts_, [now](const Doubt& doubt) { return now >= doubt.due; });
    return taken;
  }

 private:
  struct Doubt {
    Suspicion of;
    Time due;
  };
  std::vector<Doubt> doubts_;
};

}  // namespace stretto
