// SPDX-License-Identifier: Apache-2.0
// GroupAgreement: who goes on making rounds together after a loss or when somebody comes in,
// decided by one worker from what all of them say (control::Regroup). Who has said something makes
// no rounds until it hears, so what it has finished stays true.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "van/control/control.h"

namespace stretto {

/// Pure. Thread: loop.
class GroupAgreement {
 public:
  /// A worker's last word. What it said before it heard of a decision made here is dropped, unless
  /// it lacks a member of that decision: then the worker refuses the decision, and waits for
  /// another one.
  void note(NodeId from, control::Regroup said);

  /// It has left.
  void forget(NodeId node) {
    said_.erase(node);
    decided_.erase(node);
  }

  /// Those who go on, of which this worker is one, and what all have finished, if that can be said:
  /// all of them want to go on with the same; or, if somebody is lost, some want newcomers to come
  /// in and others are not there yet: without newcomers. `current`: who makes rounds together now;
  /// nobody before the first decision. Whoever is decided about is to hear of it.
  std::optional<control::Regroup> decide(NodeId self, const std::vector<NodeId>& current);

 private:
  std::optional<std::vector<NodeId>> group_of(const control::Regroup& own,
                                              const std::vector<NodeId>& current) const;
  bool all_say(const std::vector<NodeId>& nodes, const std::vector<NodeId>& members) const;
  std::vector<control::Regroup::Finished> finished_by(const std::vector<NodeId>& group) const;

  std::map<NodeId, control::Regroup> said_;
  struct Told {
    std::uint64_t generation = 0;
    std::vector<NodeId> members;
  };
  std::map<NodeId, Told> decided_;  // The last decision that each was told.
};

/// The least of both, part by part.
control::Regroup::Finished least_of(const control::Regroup::Finished& one,
                                    const control::Regroup::Finished& other);

}  // namespace stretto
