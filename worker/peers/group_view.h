// SPDX-License-Identifier: Apache-2.0
// GroupView: with whom this worker makes rounds among workers in an elastic job. When somebody is
// lost or leaves, it makes no rounds, says so to the first of those who are left, and goes on with
// whom that one names. So it does at the step before which newcomers come in, but that open rounds
// go on: others may not have their values yet.
#pragma once

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "core/roster.h"
#include "van/engine/van.h"
#include "worker/peers/group_agreement.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// Thread: loop.
class GroupView {
 public:
  struct Ways {
    /// No rounds are made from now on; or, if others only come in, none that are not open. These
    /// have been.
    std::function<std::vector<control::Regroup::Finished>(bool all)> stop;
    /// They are made again, with these members.
    std::function<void(const control::Regroup&)> go_on;
  };

  /// All outlive this.
  GroupView(Van& van, PeerLinks& peers, Ways ways)
      : van_(van), peers_(peers), ways_(std::move(ways)) {}

  /// This worker makes such rounds, from now on.
  void begin() { begun_ = true; }
  bool begun() const { return begun_; }
  /// Looks at who is in at the step that this worker's program is in. What PeerLinks::want says of
  /// them.
  Status follow(const Roster& roster, NodeId self, std::uint64_t step);
  /// There is a link to this worker now.
  void greet(NodeId node);
  void on_said(NodeId from, const control::Regroup& said);

  /// It knows with whom it makes rounds, and none of these is lost.
  bool goes() const { return generation_ > 0 && !stopped_; }
  /// Others are to come in before the next round.
  bool holds() const { return wanted_ != members_; }
  /// They are being chosen anew.
  bool waits() const { return waits_; }
  /// The number of that choice; the first is 1.
  std::uint64_t generation() const { return generation_; }
  const std::vector<NodeId>& members() const { return members_; }
  bool is_wanted(NodeId node) const { return std::ranges::binary_search(wanted_, node); }
  /// Who says with whom it goes on.
  NodeId decider() const { return wanted_.empty() ? 0 : wanted_.front(); }

 private:
  void stand();
  void ask();
  void decide();
  void take(const control::Regroup& decided);

  Van& van_;
  PeerLinks& peers_;
  const Ways ways_;
  bool begun_ = false;
  NodeId self_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<NodeId> members_;  // Sorted, as all of these are.
  std::vector<NodeId> wanted_;
  bool waits_ = false;
  bool stopped_ = false;   // Open rounds do, too.
  control::Regroup said_;  // While it waits.
  Status unreachable_;     // Why somebody who is wanted cannot be called, or ok.
  // What the roster, links and the program were when they were looked at last.
  std::tuple<std::uint32_t, std::uint64_t, std::uint64_t> followed_;
  GroupAgreement choice_;
};

}  // namespace stretto
