// SPDX-License-Identifier: Apache-2.0
// From a roster's members to ranks.
#include "worker/job_place.h"

namespace stretto {

// A job whose size is fixed keeps the ranks of those who have left. Who is about to come in has a
// rank, beyond those of who are in.
JobPlace place_in(const Roster& roster, NodeId self) {
  JobPlace place{
      .epoch = roster.epoch,
      .min_workers = roster.settings.min_workers,
      .numbers = std::vector<Rank>(roster.workers),
      .restored = {.number = roster.settings.restored, .step = roster.settings.restored_step}};
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || (roster.settings.elastic() && member.left)) continue;
    if (member.node == self) {
      place.rank = member.rank;
      place.number = member.number();
    }
    if (member.joining || member.rank >= roster.workers) continue;
    place.numbers[member.rank] = member.number();
  }
  return place;
}

void PlaceWatch::follow(const Membership& membership) {
  const std::optional<Roster>& roster = membership.roster();
  const bool is_out = membership.state() == Membership::State::kCutOff;
  if (!roster || (roster->epoch == epoch_ && is_out == is_out_)) return;
  epoch_ = roster->epoch;
  is_out_ = is_out;
  JobPlace place = place_in(*roster, membership.node());
  if (is_out) place.lost_as = membership.node();
  if (then_) then_(place);
}

}  // namespace stretto
