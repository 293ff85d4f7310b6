// SPDX-License-Identifier: Apache-2.0
// GroupView: the group with which this worker makes rounds among workers in an elastic job. When a
// worker is lost or leaves, this one stops its rounds and reports to the first remaining worker. It
// continues with the group that the latter decides. It does the same at a step before which workers
// join, but open rounds continue: peers may lack their values.
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
    /// Stops all rounds; or, if workers only join, those that are not open. Returns the finished
    /// rounds.
    std::function<std::vector<control::Regroup::Finished>(bool all)> stop;
    /// Rounds are made again, with this group.
    std::function<void(const control::Regroup&)> go_on;
  };

  /// All outlive this.
  GroupView(Van& van, PeerLinks& peers, Ways ways)
      : van_(van), peers_(peers), ways_(std::move(ways)) {}

  /// This worker makes such rounds from now on.
  void begin() { begun_ = true; }
  bool begun() const { return begun_; }
  /// Updates the wanted group to the members at this worker's step. Returns the status of
  /// PeerLinks::want for them.
  Status follow(const Roster& roster, NodeId self, std::uint64_t step);
  /// There is a link to this worker now.
  void greet(NodeId node);
  void on_said(NodeId from, const control::Regroup& said);

  /// True if the group is decided, and none of its members is lost.
  bool goes() const { return generation_ > 0 && !stopped_; }
  /// True if workers must join before the next round.
  bool holds() const { return wanted_ != members_; }
  /// True while a group is being decided.
  bool waits() const { return waits_; }
  /// The number of the last decision; the first is 1.
  std::uint64_t generation() const { return generation_; }
  const std::vector<NodeId>& members() const { return members_; }
  bool is_wanted(NodeId node) const { return std::ranges::binary_search(wanted_, node); }
  /// The worker that decides the group.
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
  bool stopped_ = false;   // Open rounds are, too.
  control::Regroup said_;  // The report, while it waits.
  Status unreachable_;     // Why a wanted worker cannot be connected to, or ok.
  // The roster's epoch, the count of lost links and the step at the last follow().
  std::tuple<std::uint32_t, std::uint64_t, std::uint64_t> followed_;
  GroupAgreement choice_;
};

}  // namespace stretto
