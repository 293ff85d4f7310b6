// SPDX-License-Identifier: Apache-2.0
// Failures and arrivals of servers, in the next view.
#include "scheduler/membership/server_failover.h"

#include <fmt/core.h>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kServerRestarts = 10s;  // How long a replacement may take to join.

Result<Member> admit_as(Rank number, Join join, Admission& admission) {
  join.rank = number;
  return admission.admit_in_place(join);
}

// Admits a replacement of the failed server.
Result<Member> admit_for(const Member& lost, const Join& join, Admission& admission) {
  admission.remove(lost.node);
  return admit_as(join.rank < 0 ? lost.number() : static_cast<Rank>(join.rank), join, admission);
}

}  // namespace

bool ServerFailover::hear(const StandbyCaughtUp& caught, const ViewDraft& draft, View& published) {
  View& next = draft.next;
  const Member* server = next.find(caught.server);
  const Member* standby = next.find(caught.standby);
  const bool fits = server != nullptr && standby != nullptr && !server->standby &&
                    standby->standby && server->rank == standby->rank &&
                    server->shard == standby->shard && server->role == Role::kServer;
  if (!fits) return false;
  next.caught_up.insert(caught.standby);
  published.caught_up.insert(caught.standby);  // No notification is needed.
  if (standbys_.are_kept() || standbys_.heir(*server, next) == nullptr) return false;
  hand_over_all(Standbys::shards_of(*server, next), draft);
  return true;
}

void ServerFailover::hand_over_all(const std::vector<Member>& shards,
                                   const ViewDraft& draft) const {
  std::vector<std::pair<Member, Member>> handed_over;
  for (const Member& shard : shards) {
    if (!shard.standby) handed_over.emplace_back(shard, *standbys_.heir(shard, draft.next));
  }
  for (const auto& [from, to] : handed_over) hand_over(from, to, draft);
}

void ServerFailover::hand_over(const Member& from, const Member& to, const ViewDraft& draft) {
  draft.changed.insert(to.node);
  draft.slots.replace(draft.next.slots, from.node, to.node);
  draft.next.caught_up.erase(to.node);
  draft.next.members.at(to.node).standby = false;
  remove(from, draft);
}

void ServerFailover::remove(const Member& server, const ViewDraft& draft) {
  draft.next.caught_up.erase(server.node);
  draft.admission.remove(server.node);
  draft.next.members.erase(server.node);
  draft.linked.erase(server.node);  // Its end need not be waited for.
  draft.changed.insert(server.node);
}

std::optional<ServerFailover::Entry> ServerFailover::admit(const Join& join,
                                                           const ViewDraft& draft) {
  const Member* away = returns_.place_for(join);
  const auto standby = away != nullptr ? std::nullopt : standbys_.place_for(join, draft.next);
  if (away == nullptr && !standby) {
    std::optional<Status> refused = standbys_.turned_away(join);
    return refused ? std::optional<Entry>(Entry{.member = *std::move(refused)}) : std::nullopt;
  }
  const NodeId lost = away == nullptr ? 0 : away->node;
  Result<Member> member = away == nullptr ? admit_as(*standby, join, draft.admission)
                                          : admit_for(*away, join, draft.admission);
  if (!member.ok()) return Entry{.member = member.status()};
  *member = standbys_.placed(*member);
  member->standby = standby.has_value();
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

ServerFailover::Loss ServerFailover::lose(const Member& server, const std::string& cause, Time now,
                                          const ViewDraft& draft) {
  if (go_on_without(server, cause, draft)) return Loss::kReplaced;
  if (returns_.refusal()) return Loss::kEnds;
  if (const Member* standby = standbys_.of(server, draft.next)) {
    draft.lost[standby->node] = fmt::format("{} is, before it had all of it", server.describe());
    remove(Member(*standby), draft);
  }
  Member& away = draft.next.members.at(server.node);
  away.left = away.lost = true;
  draft.lost[away.node] = cause;
  draft.changed.insert(away.node);
  returns_.await(away, cause, now + kServerRestarts);
  return Loss::kAwaited;
}

Status ServerFailover::lose_replacement(const Member& away, const std::string& cause, Time now) {
  if (!returns_.awaits(away.node)) return {};
  if (const auto refused = returns_.refusal()) {
    const std::string who = away.describe();
    return Status(Code::kServerLost, fmt::format("{} is lost: {}{}", who, cause, *refused))
        .with_peer(who);
  }
  returns_.await(away, cause, now + kServerRestarts);
  return {};
}

bool ServerFailover::go_on_without(const Member& server, const std::string& cause,
                                   const ViewDraft& draft) const {
  if (!server.standby && standbys_.heir(server, draft.next) == nullptr) return false;
  const std::vector<Member> shards = Standbys::shards_of(server, draft.next);
  for (const Member& shard : shards) draft.lost[shard.node] = cause;
  hand_over_all(shards, draft);
  for (const Member& shard : shards) {
    if (shard.standby) remove(shard, draft);
  }
  return true;
}

std::string ServerFailover::refusal(const Member& lost, const View& view) const {
  return returns_.refusal().value_or("") + standbys_.refusal(lost, view);
}

Status ServerFailover::overdue(Time now) const {
  const auto missed = returns_.overdue(now);
  if (!missed) return {};
  const std::string who = missed->first.describe();
  return Status(Code::kServerLost,
                fmt::format("{} is lost: {}; and none came in its place within {} s", who,
                            missed->second, seconds(kServerRestarts)))
      .with_peer(who);
}

}  // namespace stretto
