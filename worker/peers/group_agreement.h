// SPDX-License-Identifier: Apache-2.0
// GroupAgreement: the group that continues after a loss, or with joining workers, decided by one
// worker from the reports of all (control::Regroup). A worker that has reported makes no rounds
// until the decision arrives, so its reported progress stays true.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "van/control/control.h"

namespace stretto {

/// Pure. Thread: loop.
class GroupAgreement {
 public:
  /// A worker's last report. A report from before it received a decision made here is dropped,
  /// unless it lacks a member of that decision: then the worker rejects the decision, and waits for
  /// another one.
  void note(NodeId from, control::Regroup said);

  /// The worker has left.
  void forget(NodeId node) {
    said_.erase(node);
    decided_.erase(node);
  }

  /// The group that continues, with this worker in it, and what all have finished, if that can be
  /// decided: all of them report the same group; or, if a worker is lost while not all have reached
  /// the step of joining workers: the group without those. `current`: the group so far; empty
  /// before the first decision. Every worker in the result must be told.
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
  std::map<NodeId, Told> decided_;  // The last decision sent to each worker.
};

/// The minimum of both, part by part.
control::Regroup::Finished least_of(const control::Regroup::Finished& one,
                                    const control::Regroup::Finished& other);

}  // namespace stretto
