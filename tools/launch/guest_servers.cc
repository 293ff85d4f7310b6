// SPDX-License-Identifier: Apache-2.0
// Numbers n + 2 S and n + 3 S, of S places.
#include "tools/launch/guest_servers.h"

namespace stretto::launch {

std::vector<JobMember> guest_servers(const Plan& plan) {
  std::vector<JobMember> guests;
  if (!servers_move(plan) && plan.replicas == 1) return guests;
  const Rank first = plan.servers * JobSettings::kMostReplicas;
  for (Rank i = 0; i < first; ++i) guests.push_back({Role::kServer, first + i});
  return guests;
}

std::optional<std::size_t> stand_in_for(std::size_t member, std::uint32_t places,
                                        const JobEvidence& evidence) {
  const JobMember lost = evidence.members.at(member).member;
  const bool is_guest =
      lost.role == Role::kServer && places != 0 && lost.rank >= places * JobSettings::kMostReplicas;
  if (!is_guest) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t other = 0; other < evidence.members.size(); ++other) {
    const JobMember& one = evidence.members[other].member;
    const bool may = one.role == Role::kServer && one.rank % places == lost.rank % places &&
                     one.rank < places * JobSettings::kMostReplicas;
    if (may && (!found || (evidence.is_alive(*found) && !evidence.is_alive(other)))) found = other;
  }
  return found;
}

}  // namespace stretto::launch
