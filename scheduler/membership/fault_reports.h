// SPDX-License-Identifier: Apache-2.0
// FaultReports: reports of broken links between members. Mostly one of the two members has failed,
// which is known a moment later. Otherwise the cause is the member that several broken links have
// in common. Pure.
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
  /// The members at both ends, the lower node id first.
  using Link = std::pair<NodeId, NodeId>;

  /// Counts the first report of a link until it is decided. Signs of life of the next moment may
  /// predate the break. `dead_after`: JobSettings::dead_after. `is_choice`: the job could go on
  /// without either end, so reports of their other links are waited for.
  void add(const Suspicion& report, Time now, Duration dead_after, bool is_choice);
  /// Drops reports about members that have left. Drops those about a promoted standby, too: workers
  /// connect to it again.
  void follow(const View& before, const View& now);
  /// This member shows a sign of life.
  void alive(NodeId node, Time now);

  /// Links whose cause should be decided because no other cause has shown. The members are alive or
  /// have been silent for long enough, and reports of their other links have had time to arrive.
  std::vector<Link> due(Time now) const;
  /// A broken link, and which end is more likely to be the cause.
  struct Fault {
    Suspicion report;
    NodeId silent = 0;      ///< This end shows no sign of life, and the peer does; 0: neither.
    NodeId common = 0;      ///< This end has more broken links than the peer; 0: neither.
    std::size_t links = 1;  ///< How many broken links `common` has.

    /// The silent end, even if the peer has more broken links: it has one for each silent member.
    /// Else the common end; else the member that joined later.
    NodeId likelier() const;
  };
  /// Decides the report of this link and removes it. Nothing if the link has no report.
  std::optional<Fault> take(const Link& link);
  /// The members whose links to this one are reported.
  std::vector<NodeId> far_ends_of(NodeId node) const;

 private:
  struct Report {
    Suspicion report;
    Time proof_from;  // A sign of life since then was sent after the break.
    Time settles;     // When the report is due if both ends are alive.
    Time patience;    // When it is due if one end is alive.
    Time due;         // When it is due in any case.
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
  std::map<NodeId, End> ends_;  // Of the reported links.
};

}  // namespace stretto
