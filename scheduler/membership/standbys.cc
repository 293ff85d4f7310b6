// SPDX-License-Identifier: Apache-2.0
// Each server rank has two servers: a primary and a standby.
#include "scheduler/membership/standbys.h"

#include <fmt/core.h>

namespace stretto {
namespace {

bool is_at(const Member& member, Rank place) {
  return member.role == Role::kServer && member.rank == place && !member.left;
}

}  // namespace

Member Standbys::placed(Member member) const {
  if (member.role != Role::kServer || !config_.job.servers_replaced()) return member;
  const Rank number = member.number();
  member.standby = number >= config_.servers;
  member.rank = number % config_.servers;
  member.moved_up = number - member.rank;
  return member;
}

std::optional<Rank> Standbys::place_for(const Join& join, const View& view) const {
  if (join.role != Role::kServer || !config_.job.servers_replaced()) return std::nullopt;
  if (!are_kept() && join.rank < 0) return std::nullopt;  // A migration names its server.
  for (Rank number = 0; number < config_.server_numbers(); ++number) {
    if (join.rank >= 0 && join.rank != std::int64_t{number}) continue;
    std::uint32_t here = 0;
    bool is_taken = false;
    for (const auto& [node, member] : view.members) {
      if (!is_at(member, number % config_.servers)) continue;
      is_taken = is_taken || (member.standby && member.number() != number);  // Any shard of it.
      if (member.shard != join.shard) continue;
      ++here;
      is_taken = is_taken || member.number() == number;
    }
    if (here == 1 && !is_taken) return number;
  }
  return std::nullopt;
}

// Numbers that members have released are free; ranks are not.
std::optional<Status> Standbys::turned_away(const Join& join) const {
  if (join.role != Role::kServer || !config_.job.servers_replaced()) return std::nullopt;
  const std::string number = join.rank < 0 ? "a server" : fmt::format("server {}", join.rank);
  return Status(Code::kRefused,
                fmt::format("{} asks to be {}, and the job runs already: it would have a place "
                            "that is free, or that is to be handed over, and there is none",
                            join.host, number));
}

const Member* Standbys::of(const Member& server, const View& view) {
  for (const auto& [node, member] : view.members) {
    if (is_at(member, server.rank) && member.standby) return &member;
  }
  return nullptr;
}

std::vector<Member> Standbys::shards_of(const Member& server, const View& view) {
  std::vector<Member> shards;
  for (const auto& [node, member] : view.members) {
    if (is_at(member, server.rank) && member.number() == server.number()) shards.push_back(member);
  }
  return shards;
}

const Member* Standbys::heir(const Member& lost, const View& view) const {
  const Member* heir = nullptr;
  std::uint32_t have_all = 0;
  for (const auto& [node, member] : view.members) {
    if (!is_at(member, lost.rank) || !member.standby || !view.caught_up.contains(node)) continue;
    ++have_all;
    if (member.shard == lost.shard) heir = &member;
  }
  return have_all == config_.shards ? heir : nullptr;
}

std::string Standbys::refusal(const Member& lost, const View& view) const {
  if (!config_.job.replicated()) return {};
  for (const auto& [node, member] : view.members) {
    const bool lacks = is_at(member, lost.rank) && member.standby && !view.caught_up.contains(node);
    if (!lacks) continue;
    return fmt::format("; {}, which stands by for it, does not have all of it yet",
                       member.describe());
  }
  return "; nobody stands by for it";
}

std::optional<StandbyCaughtUp> caught_by(const Member& teller, NodeId standby, const View& view) {
  if (teller.role != Role::kServer) return std::nullopt;
  if (!teller.standby) return StandbyCaughtUp{.server = teller.node, .standby = standby};
  if (teller.node != standby) return std::nullopt;
  for (const auto& [node, member] : view.members) {
    const bool serves = is_at(member, teller.rank) && member.shard == teller.shard;
    if (serves && !member.standby) return StandbyCaughtUp{node, standby};
  }
  return std::nullopt;
}

std::string successor_of(const Member& lost, const View& view) {
  for (const auto& [node, member] : view.members) {
    const bool has_it = member.role == Role::kServer && member.rank == lost.rank &&
                        member.shard == lost.shard && !member.standby && !member.left;
    if (!has_it) continue;
    if (!lost.lost && !lost.standby) {
      return fmt::format("{} has given its place to {}", lost.describe(), member.describe());
    }
    return lost.standby ? fmt::format("nobody stands by for {} now", member.describe())
                        : fmt::format("{}, which stood by, has its place", member.describe());
  }
  return "another is awaited in its place";
}

}  // namespace stretto
