// SPDX-License-Identifier: Apache-2.0
// StandbyLinks: this worker's links to servers that stand by for others. They are called as soon as
// the roster names them, so that it is known whether this host can reach them before they have a
// place. They answer that they have heard that; what they say besides, before the roster says that
// they have it, waits until then.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class StandbyLinks {
 public:
  using Said = std::pair<LinkId, control::Message>;
  /// A server that this host cannot reach.
  struct Unreachable {
    Member member;
    Status why;
  };

  explicit StandbyLinks(Van& van) : van_(van) {}

  /// Calls who has come to stand by, with this hello, and ends the links to those who are gone.
  void follow(const Roster& roster, const control::Hello& hello, Time now);
  /// This one has a place: its link from now on, if it has one that may still be used. What it has
  /// said is given by take_said().
  std::optional<LinkId> promote(NodeId node);
  /// True if the message is of one who stands by: an answer, or it waits.
  bool holds(LinkId link, const control::Message& message);
  /// All have answered, or are missed.
  bool settled() const;
  /// In order; once.
  std::vector<Said> take_said() { return std::exchange(said_, {}); }
  void tell_all(const control::Message& message);
  /// A link has ended. True if it was to one who stands by: it is missed.
  bool lose(LinkId link, const Status& why);
  /// Those that cannot be reached, each once. `excused`: nobody is there now who would say that one
  /// of them is lost, so that they have their time anew.
  std::vector<Unreachable> take_missed(Time now, bool excused = false);
  /// When that should be asked.
  Time next_due() const;

 private:
  struct Standby {
    Member member;
    LinkId link = 0;              // 0: it is missed.
    Time deadline = Time::max();  // For its answer.
    bool late = false;
    std::vector<control::Message> said = {};
    std::optional<control::Fault> refusal = {};
  };

  void call(const Member& member, const control::Hello& hello, Time now);
  Standby* at(LinkId link);
  void miss(Standby& standby, Status why);

  Van& van_;
  std::map<NodeId, Standby> standbys_;
  std::vector<Said> said_;
  std::vector<Unreachable> missed_;
  Duration patience_{};
};

}  // namespace stretto
