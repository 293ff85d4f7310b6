// SPDX-License-Identifier: Apache-2.0
// FaultReports: links between members of which one end reports that they broke. Mostly one of the
// two members is lost, and that is known a moment later. Otherwise the member is the cause that
// several broken links have in common. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "core/view.h"
#include "scheduler/membership/view_events.h"

namespace stretto {

/// Thread: loop.
class FaultReports {
 public:
  /// The members at its ends, the lower identity first.
  using Link = std::pair<NodeId, NodeId>;

  /// The first report of a link counts, until it is decided. Signs of life that come in the next
  /// moment may have been on their way. `dead_after`: JobSettings::dead_after. `is_choice`: the job
  /// could go on without either end, so reports of their other links are waited for.
  void add(const Suspicion& report, Time now, Duration dead_after, bool is_choice);
  /// Links of members that have gone are no faults. Nor are those of a standby that has a place
  /// now: workers call it again.
  void follow(const View& before, const View& now);
  /// This member shows a sign of life.
  void alive(NodeId node, Time now);

  /// Links whose cause should be decided: no other cause has shown. The members are alive or have
  /// been silent for long enough, and reports of their other links have had the time to come.
  std::vector<Link> due(Time now) const;
  /// A broken link, and which end is more likely to be the cause.
  struct Fault {
    Suspicion report;
    NodeId silent = 0;      ///< This end shows no sign of life, and the far end does; 0: neither.
    NodeId common = 0;      ///< This end has more broken links than the far end; 0: neither.
    std::size_t links = 1;  ///< How many broken links `common` has.

    /// The silent end, even if the far end has more broken links: it has one for each silent
    /// member. Else the common end; else the member that came later.
    NodeId likelier() const;
  };
  /// It is decided now, and no report any more. Nothing if it has been before.
  std::optional<Fault> take(const Link& link);
  /// The members whose links to this one are reported.
  std::vector<NodeId> far_ends_of(NodeId node) const;

 private:
  struct Report {
    Suspicion report;
    Time proof_from;  // A sign of life since then was given after the break.
    Time settles;     // If both ends live no more is waited for.
    Time patience;    // The same if one end does.
    Time due;         // The same in any case.
  };
  struct End {
    std::set<NodeId> far_ends;
    Time alive;
  };

  bool lives(NodeId node, const Report& report) const {
    return ends_.at(node).alive >= report.proof_from;
  }
  void remove(const Link& link);
  void remove_all_of(NodeId node);

  std::map<Link, Report> reports_;
  std::map<NodeId, End> ends_;  // Of these links.
};

}  // namespace stretto
