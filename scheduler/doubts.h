// SPDX-License-Identifier: Apache-2.0
// Doubts: links between members of which one end says that they broke. Mostly one of the two is
// lost, and that is known a moment later. Pure.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "common/clock.h"
#include "scheduler/view_events.h"

namespace stretto {

/// Thread: loop.
class Doubts {
 public:
  /// A report counts once until it is due. Signs of life that come in the next moment may have been
  /// on their way. `dead_after`: JobSettings::dead_after.
  void add(const Suspicion& suspicion, Time now, Duration dead_after) {
    const bool known = std::ranges::any_of(doubts_, [&](const Doubt& doubt) {
      return doubt.of.reporter == suspicion.reporter && doubt.of.subject == suspicion.subject;
    });
    if (known) return;
    const Duration patience = std::max<Duration>(kPatience, dead_after / 5);
    doubts_.push_back({.of = suspicion, .proof_from = now + kProof, .due = now + patience});
  }
  /// Who stood by, and has a place now, is called again: what was said of it before is over.
  void follow(const View& before, const View& now) {
    std::erase_if(doubts_, [&](const Doubt& doubt) {
      const Member* was = before.find(doubt.of.subject);
      const Member* is = now.find(doubt.of.subject);
      return was != nullptr && is != nullptr && was->standby && !is->standby;
    });
  }
  /// It shows a sign of life. Who has shown one since a break is not its cause.
  void alive(NodeId node, Time now) {
    for (Doubt& doubt : doubts_) {
      if (now < doubt.proof_from) continue;
      doubt.reporter_lives |= doubt.of.reporter == node;
      doubt.subject_lives |= doubt.of.subject == node;
    }
  }
  /// A break of which no other cause has shown.
  struct Due {
    Suspicion of;
    NodeId likelier = 0;  ///< Which end is more likely to be its cause.
  };
  /// Those of which both ends live, and those that have waited long enough for another cause. They
  /// are doubts no longer.
  std::vector<Due> take_due(Time now) {
    std::vector<Due> taken;
    const auto is_due = [now](const Doubt& doubt) {
      return now >= doubt.due || (doubt.reporter_lives && doubt.subject_lives);
    };
    for (const Doubt& doubt : doubts_) {
      if (is_due(doubt)) taken.push_back({.of = doubt.of, .likelier = likelier(doubt)});
    }
    std::erase_if(doubts_, is_due);
    return taken;
  }

 private:
  // How long a reported break may wait for its cause, such as that the far end's process has gone:
  // longer than links are hoped for where nobody else would tell (LinkLimits::brief).
  static constexpr Duration kPatience = std::chrono::seconds(2);
  // After that a sign of life has been given since the report.
  static constexpr Duration kProof = std::chrono::milliseconds(100);

  struct Doubt {
    Suspicion of;
    Time proof_from;
    Time due;
    bool reporter_lives = false;
    bool subject_lives = false;
  };

  // Who shows no sign of life, though who has lost several others has more broken links than each
  // of them; else who has lost links to more others; else who came later.
  NodeId likelier(const Doubt& doubt) const {
    const auto [reporter, subject, cause] = doubt.of;
    if (doubt.reporter_lives != doubt.subject_lives) {
      return doubt.reporter_lives ? subject : reporter;
    }
    const std::size_t of_reporter = others_of(reporter);
    const std::size_t of_subject = others_of(subject);
    if (of_reporter != of_subject) return of_reporter > of_subject ? reporter : subject;
    return std::max(reporter, subject);
  }
  std::size_t others_of(NodeId node) const {
    std::set<NodeId> others;
    for (const Doubt& doubt : doubts_) {
      if (doubt.of.reporter == node) others.insert(doubt.of.subject);
      if (doubt.of.subject == node) others.insert(doubt.of.reporter);
    }
    return others.size();
  }

  std::vector<Doubt> doubts_;
};

}  // namespace stretto
