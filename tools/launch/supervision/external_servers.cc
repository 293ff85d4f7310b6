// SPDX-License-Identifier: Apache-2.0
// An external server of rank n has the id n + 2 S or n + 3 S, with S server ranks.
#include "tools/launch/supervision/external_servers.h"

#include <algorithm>
#include <iterator>

namespace stretto::launch {

std::vector<JobMember> guest_servers(const Plan& plan) {
  std::vector<JobMember> guests;
  if (!servers_move(plan) && plan.replicas == 1) return guests;
  const Rank first = plan.servers * JobSettings::kMostReplicas;
  for (Rank i = 0; i < first; ++i) guests.push_back({Role::kServer, first + i});
  return guests;
}

bool is_guest_server(const JobMember& member, std::uint32_t places) {
  return member.role == Role::kServer && places != 0 &&
         member.rank >= places * JobSettings::kMostReplicas;
}

std::optional<std::size_t> stand_in_for(std::size_t member, std::uint32_t places,
                                        const JobEvidence& evidence) {
  const JobMember lost = evidence.members.at(member).member;
  if (!is_guest_server(lost, places)) return std::nullopt;
  std::optional<std::size_t> found;  // Prefers a server whose last start did not fail.
  for (std::size_t other = 0; other < evidence.members.size(); ++other) {
    const JobMember& one = evidence.members[other].member;
    const bool is_of_it = one.role == Role::kServer && one.rank % places == lost.rank % places;
    // A running server may be the only one of its rank.
    if (!is_of_it || is_guest_server(one, places) || evidence.is_alive(other)) continue;
    if (!found || !evidence.members[*found].lost.ok()) found = other;
  }
  return found;
}

std::vector<JobMember> with_spares(const Plan& plan) {
  std::vector<JobMember> members = members_of(plan);
  std::ranges::copy(spares_of(plan), std::back_inserter(members));
  std::ranges::copy(guest_servers(plan), std::back_inserter(members));
  return members;
}

std::size_t spares_in(const Plan& plan) {
  return spares_of(plan).size() + guest_servers(plan).size();
}

}  // namespace stretto::launch
