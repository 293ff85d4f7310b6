// SPDX-License-Identifier: Apache-2.0
// StandbyLinks: this worker's links to standbys. It connects as soon as the roster names them, so
// that an unreachable standby is known before its promotion. Standbys acknowledge that. Their other
// messages wait until the roster says that they are promoted.
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
  /// A standby that this host cannot reach.
  struct Unreachable {
    Member member;
    Status why;
  };

  explicit StandbyLinks(Van& van) : van_(van) {}

  /// Connects to new standbys, with this hello, and ends the links to those that are gone.
  void follow(const Roster& roster, const control::Hello& hello, Time now);
  /// The standby is promoted: returns its link, if that may still be used. take_said() returns its
  /// earlier messages.
  std::optional<LinkId> promote(NodeId node);
  /// True if the message is from a standby: an answer, or one that waits.
  bool holds(LinkId link, const control::Message& message);
  /// True if all have answered, or are unreachable.
  bool settled() const;
  /// The messages of promoted standbys, in order; once.
  std::vector<Said> take_said() { return std::exchange(said_, {}); }
  void tell_all(const control::Message& message);
  /// A link has ended. True if it was to a standby, which is unreachable now.
  bool lose(LinkId link, const Status& why);
  /// Those that cannot be reached, each once. `excused`: no scheduler runs that could report a
  /// loss, so their time starts again.
  std::vector<Unreachable> take_missed(Time now, bool excused = false);
  /// When to call take_missed().
  Time next_due() const;

 private:
  struct Standby {
    Member member;
    LinkId link = 0;              // 0: it is unreachable.
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
