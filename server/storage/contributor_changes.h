// SPDX-License-Identifier: Apache-2.0
// ContributorChanges: that others make rounds from now on reaches each part between two of its
// updates. One whose update is on its way to who stands by hears of it once that is released: until
// then nothing counts for it anyway.
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
    /// A round is complete, as it lacked nobody but those who are gone.
    std::function<void(const OwnedSlots::Place&, Update)> append;
    std::function<void(const OwnedSlots::Place&)> made_nothing;  ///< The same of one without.
    /// The open round cannot be made by these.
    std::function<void(Part&, const Status&)> fail;
  };

  /// `slots` outlive this.
  ContributorChanges(OwnedSlots& slots, Ways ways) : slots_(slots), ways_(std::move(ways)) {}

  /// These make rounds from now on, without those who are lost.
  void apply(const ContributorGroup& workers, const std::set<NodeId>& lost);
  /// This part has no update on its way any more.
  void settled(Part& part);

 private:
  void regroup(Part& part, const std::set<NodeId>& lost);

  OwnedSlots& slots_;
  const Ways ways_;
  std::map<wire::Key, std::set<NodeId>> late_;  // Parts that are to hear of it, and who is lost.
};

}  // namespace stretto
