// SPDX-License-Identifier: Apache-2.0
// Matches exits of processes with the members of a view.
#include "scheduler/launcher/replacement_ends.h"

#include <algorithm>
#include <utility>

namespace stretto {

std::vector<NodeId> ReplacementEnds::lost_by(const std::vector<MemberExit>& ends,
                                             const View& view) {
  std::vector<NodeId> awaited;
  for (const MemberExit& end : ends) {
    if (end.role != Role::kServer) continue;
    const auto found = std::ranges::find_if(view.members, [&](const auto& entry) {
      const Member& member = entry.second;
      return member.role == Role::kServer && member.number() == end.rank && member.shard == 0;
    });
    if (found == view.members.end()) continue;
    const auto& [node, member] = *found;
    const bool own = std::exchange(ended_[end.rank], node) != node;
    if (!own && member.left && member.lost) awaited.push_back(node);
  }
  return awaited;
}

void ReplacementEnds::end(const std::vector<MemberExit>& ends, const ViewMachine& machine,
                          JobMonitor& watch, const std::function<void(const Lost&)>& happened) {
  for (const NodeId node : lost_by(ends, machine.next_view())) {
    happened(
        {.node = node, .cause = "its replacement has ended before it joined", .replacement = true});
    if (machine.phase() != ViewMachine::Phase::kRunning) return;
    watch.lost(*machine.next_view().find(node));
  }
}

}  // namespace stretto
