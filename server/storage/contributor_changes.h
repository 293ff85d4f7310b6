// SPDX-License-Identifier: Apache-2.0
// ContributorChanges: applies a change of contributors to each part between two of its updates. If
// a part's update is in transit to the standby, the change waits for its release: until then no
// contribution counts for the part anyway.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "server/storage/owned_slots.h"

namespace stretto {

/// Thread: loop.
class ContributorChanges {
 public:
  struct Ways {
    /// A round is complete: it lacked only removed workers.
    std::function<void(const OwnedSlots::Place&, Update)> append;
    std::function<void(const OwnedSlots::Place&)> made_nothing;  ///< A round without an update.
    /// The open round cannot continue with these contributors.
    std::function<void(Part&, const Status&)> fail;
  };

  /// `slots` must outlive this.
  ContributorChanges(OwnedSlots& slots, Ways ways) : slots_(slots), ways_(std::move(ways)) {}

  /// Sets the contributors; `lost` workers have failed.
  void apply(const ContributorGroup& workers, const std::set<NodeId>& lost);
  /// This part has no update in transit any more.
  void settled(Part& part);

 private:
  void regroup(Part& part, const std::set<NodeId>& lost);

  OwnedSlots& slots_;
  const Ways ways_;
  std::map<wire::Key, std::set<NodeId>> late_;  // Parts with a pending change, and failed workers.
};

}  // namespace stretto
