// SPDX-License-Identifier: Apache-2.0
// Applies changes at once, or once a part is settled.
#include "server/storage/contributor_changes.h"

#include <utility>

namespace stretto {

void ContributorChanges::apply(const ContributorGroup& workers, const std::set<NodeId>& lost) {
  slots_.set_workers(workers);
  slots_.for_each_part([&](Part& part) {
    if (part.settled() && !late_.contains(part.key)) return regroup(part, lost);
    part.waiting.drop(lost);
    late_[part.key].insert(lost.begin(), lost.end());
  });
  slots_.count_bytes();
}

void ContributorChanges::settled(Part& part) {
  const auto late = late_.find(part.key);
  if (late == late_.end() || !part.settled()) return;
  const std::set<NodeId> lost = std::move(late->second);
  late_.erase(late);
  const std::uint64_t before = part.bytes();
  regroup(part, lost);
  slots_.count_bytes(slots_.place_of(part), before);
}

void ContributorChanges::regroup(Part& part, const std::set<NodeId>& lost) {
  Result<std::optional<Update>> completed = Slot::regroup(part, slots_.workers(), 0, lost);
  if (!completed.ok()) return ways_.fail(part, completed.status());
  const OwnedSlots::Place place = slots_.place_of(part);
  if (completed->has_value()) ways_.append(place, **std::move(completed));
  if (part.collector.broadcast().has_made_nothing()) ways_.made_nothing(place);
}

}  // namespace stretto
