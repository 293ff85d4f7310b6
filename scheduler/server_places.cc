// SPDX-License-Identifier: Apache-2.0
// Losses and arrivals of servers, in the next view.
#include "scheduler/server_places.h"

#include <fmt/format.h>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kServerReturns = 10s;  // How long another may take to come in a server's place.

Result<Member> admit_as(Rank number, Join join, Admission& admission) {
  join.rank = number;
  return admission.admit(join);
}

// In the place of who is lost.
Result<Member> admit_for(const Member& lost, const Join& join, Admission& admission) {
  admission.remove(lost.node);
  return admit_as(lost.rank, join, admission);
}

}  // namespace

void ServerPlaces::hear(const Caught& caught, View& next, View& published) {
  const Member* server = next.find(caught.server);
  const Member* standby = next.find(caught.standby);
  const bool fits = server != nullptr && standby != nullptr && !server->standby &&
                    standby->standby && server->rank == standby->rank &&
                    server->shard == standby->shard && server->role == Role::kServer;
  if (!fits) return;
  next.caught_up.insert(caught.standby);
  published.caught_up.insert(caught.standby);  // Nobody need be told.
}

std::optional<ServerPlaces::Entry> ServerPlaces::admit(const Join& join, const ViewDraft& draft) {
  const Member* away = returns_.place_for(join);
  const std::optional<Rank> standby = standbys_.place_for(join, draft.next);
  if (away == nullptr && !standby) return std::nullopt;
  const NodeId lost = away == nullptr ? 0 : away->node;
  Result<Member> member = away == nullptr ? admit_as(*standby, join, draft.admission)
                                          : admit_for(*away, join, draft.admission);
  if (!member.ok()) return Entry{.member = member.status()};
  if (standby) {
    *member = standbys_.placed(*member);
    member->standby = true;
  }
  draft.next.members[member->node] = *member;
  draft.changed.insert(member->node);
  if (away != nullptr) {
    draft.next.members.erase(lost);
    draft.slots.replace(draft.next.slots, lost, member->node);
    returns_.taken(lost);
    draft.changed.insert(lost);
  }
  return Entry{.member = *member, .instead_of = lost};
}

ServerPlaces::Loss ServerPlaces::lose(const Member& server, const std::string& cause, Time now,
                                      const ViewDraft& draft) {
  if (go_on_without(server, cause, draft)) return Loss::kReplaced;
  if (returns_.refusal()) return Loss::kEnds;
  Member& away = draft.next.members.at(server.node);
  away.left = away.lost = true;
  draft.lost[away.node] = cause;
  draft.changed.insert(away.node);
  returns_.await(away, cause, now + kServerReturns);
  return Loss::kAwaited;
}

bool ServerPlaces::go_on_without(const Member& server, const std::string& cause,
                                 const ViewDraft& draft) const {
  if (!server.standby && standbys_.heir(server, draft.next) == nullptr) return false;
  const std::vector<Member> shards = Standbys::shards_of(server, draft.next);
  std::vector<std::pair<NodeId, NodeId>> heirs;
  for (const Member& shard : shards) {
    if (!shard.standby) heirs.emplace_back(shard.node, standbys_.heir(shard, draft.next)->node);
  }
  for (const auto& [lost, heir] : heirs) {
    draft.changed.insert(heir);
    draft.slots.replace(draft.next.slots, lost, heir);
    draft.next.caught_up.erase(heir);
    draft.next.members.at(heir).standby = false;
  }
  for (const Member& shard : shards) {
    draft.next.caught_up.erase(shard.node);
    draft.admission.remove(shard.node);
    draft.linked.erase(shard.node);  // It may end when it will.
    draft.next.members.erase(shard.node);
    draft.lost[shard.node] = cause;
    draft.changed.insert(shard.node);
  }
  return true;
}

std::string ServerPlaces::refusal(const Member& lost, const View& view) const {
  return returns_.refusal().value_or("") + standbys_.refusal(lost, view);
}

Status ServerPlaces::overdue(Time now) const {
  const auto missed = returns_.overdue(now);
  if (!missed) return {};
  const std::string who = missed->first.describe();
  return Status(Code::kServerLost,
                fmt::format("{} is lost: {}; and none came in its place within {} s", who,
                            missed->second, seconds(kServerReturns)))
      .with_peer(who);
}

}  // namespace stretto
