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
  /// A report counts once until it is due. Signs of life that come before `proof_from` may have
  /// been on their way.
  void add(const Suspicion& suspicion, Time proof_from, Time due) {
    const bool known = std::ranges::any_of(doubts_, [&](const Doubt& doubt) {
      return doubt.of.reporter == suspicion.reporter && doubt.of.subject == suspicion.subject;
    });
    if (!known) doubts_.push_back({.of = suspicion, .proof_from = proof_from, .due = due});
  }
  /// It shows a sign of life. Who has shown one since a break is not its cause.
  void alive(NodeId node, Time now) {
    for (Doubt& doubt : doubts_) {
      if (now < doubt.proof_from) continue;
      doubt.reporter_lives |= doubt.of.reporter == node;
      doubt.subject_lives |= doubt.of.subject == node;
    }
  }
  /// Those of which both ends live, and those that have waited long enough for another cause. They
  /// are doubts no longer.
  std::vector<Suspicion> take_due(Time now) {
    std::vector<Suspicion> taken;
    const auto is_due = [now](const Doubt& doubt) {
      return now >= doubt.due || (doubt.reporter_lives && doubt.subject_lives);
    };
    for (const Doubt& doubt : doubts_) {
      if (is_due(doubt)) taken.push_back(doubt.of);
    }
    std::erase_if(doubts_, is_due);
    return taken;
  }

 private:
  struct Doubt {
    Suspicion of;
    Time proof_from;
    Time due;
    bool reporter_lives = false;
    bool subject_lives = false;
  };
  std::vector<Doubt> doubts_;
};

}  // namespace stretto
