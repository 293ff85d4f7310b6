// SPDX-License-Identifier: Apache-2.0
// Ranks from a roster's members.
#include "worker/elastic/worker_view.h"

#include <algorithm>

namespace stretto {

// A job of fixed size keeps the ranks of workers that have left. A joining worker has a rank beyond
// those of the members.
WorkerView place_in(const Roster& roster, NodeId self, bool steps) {
  const Member* own = roster.find(self);
  const bool takes_in = steps || (own != nullptr && (own->joining || own->from_step != 0));
  const auto is_yet_to_come = [takes_in](const Member& member) {  // They have the last ranks.
    return !takes_in && member.role == Role::kWorker && !member.left && !member.joining &&
           member.from_step != 0;
  };
  const auto later = static_cast<Rank>(std::ranges::count_if(roster.members, is_yet_to_come));
  const Rank workers = roster.workers - std::min(later, roster.workers);
  WorkerView place{
      .epoch = roster.epoch,
      .min_workers = roster.settings.min_workers,
      .numbers = std::vector<Rank>(workers),
      .restored = {.number = roster.settings.restored, .step = roster.settings.restored_step}};
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || (roster.settings.elastic() && member.left)) continue;
    if (member.node == self) {
      place.rank = member.rank;
      place.number = member.number();
    }
    if (member.joining || member.rank >= workers) continue;
    place.numbers[member.rank] = member.number();
  }
  return place;
}

void ViewListener::follow(const MembershipClient& membership, bool steps) {
  const std::optional<Roster>& roster = membership.roster();
  const bool is_out = membership.state() == MembershipClient::State::kCutOff;
  const bool same = roster && roster->epoch == epoch_ && is_out == is_out_ && steps == steps_;
  if (!roster || same) return;
  epoch_ = roster->epoch;
  steps_ = steps;
  is_out_ = is_out;
  WorkerView place = place_in(*roster, membership.node(), steps);
  if (is_out) place.lost_as = membership.node();
  if (then_) then_(place);
}

}  // namespace stretto
