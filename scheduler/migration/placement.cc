// SPDX-License-Identifier: Apache-2.0
// Which ranks are free, and the best of them in order.
#include "scheduler/migration/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "scheduler/membership/standbys.h"

namespace stretto {
namespace {

// How many servers run on each machine, by their first shards.
std::map<std::uint64_t, std::uint32_t> servers_by_machine(const View& view) {
  std::map<std::uint64_t, std::uint32_t> counts;
  for (const auto& [node, member] : view.members) {
    if (member.role == Role::kServer && member.shard == 0 && !member.left) ++counts[member.machine];
  }
  return counts;
}

// Why this rank cannot move now; ok: it can.
Status check_free(Rank place, const View& view, const std::map<Rank, Rank>& taken) {
  const Member* serves = who_serves(view, place);
  if (serves == nullptr) {
    return {Code::kServerLost,
            fmt::format("server {} is not in the job: another is awaited in its place", place)};
  }
  if (const auto found = taken.find(place); found != taken.end()) {
    return {Code::kRefused, fmt::format("the place of {} is being handed over to server {} already",
                                        serves->describe(), found->second)};
  }
  const Member* other = Standbys::of(*serves, view);
  if (other == nullptr) return {};
  return {Code::kRefused,
          fmt::format("{} stands by for {} already", other->describe(), serves->describe())};
}

// Rejects a move within a machine, which gains nothing; an explicit request allows it.
Status check_apart(Rank place, const View& view, std::uint64_t machine) {
  const Member* serves = who_serves(view, place);
  if (serves == nullptr || machine == 0 || serves->machine != machine) return {};
  return {Code::kRefused,
          fmt::format("{} runs on that machine already (--place {} moves it all the same)",
                      serves->describe(), place)};
}

// The rank of this server.
Result<Rank> place_of(Rank server, const Config& config, const View& view,
                      const std::map<Rank, Rank>& taken) {
  const auto has_place = [server](const auto& item) {
    const Member& member = item.second;
    return member.role == Role::kServer && member.number() == server && !member.left &&
           !member.standby;
  };
  if (server >= config.servers && std::ranges::none_of(view.members, has_place)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("no server {} has a place: the job has {} places, of servers 0 to {}",
                              server, config.servers, config.servers - 1));
  }
  const Rank place = server % config.servers;
  if (Status status = check_free(place, view, taken); !status.ok()) return status;
  return place;
}

}  // namespace

const Member* who_serves(const View& view, Rank place) {
  for (const auto& [node, member] : view.members) {
    const bool serves = member.role == Role::kServer && member.rank == place && !member.standby;
    if (serves && !member.left) return &member;
  }
  return nullptr;
}

Result<std::vector<Rank>> places_for(const PlacementRequest& wish, const Config& config,
                                     const View& view, const std::map<Rank, Rank>& taken) {
  if (wish.count == 0 || wish.count > config.servers) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} places are wanted, and the job has {}: more places than "
                              "it began with it never has",
                              wish.count, config.servers));
  }
  if (wish.server) {
    const Result<Rank> place = place_of(*wish.server, config, view, taken);
    return place.ok() ? Result<std::vector<Rank>>(std::vector<Rank>{*place}) : place.status();
  }
  std::vector<Rank> free;
  Status last;
  for (Rank place = 0; place < config.servers; ++place) {
    Status status = check_apart(place, view, wish.machine);
    if (status.ok()) status = check_free(place, view, taken);
    if (status.ok()) free.push_back(place);
    if (!status.ok()) last = std::move(status);
  }
  if (free.size() < wish.count) {
    return Status(
        Code::kRefused,
        fmt::format("{} of the job's {} places are wanted, and {} can be given now{}{}", wish.count,
                    config.servers, free.size(), last.ok() ? "" : "; ", last.cause()));
  }
  std::map<std::uint64_t, std::uint32_t> counts = servers_by_machine(view);
  const auto machine_of = [&view](Rank place) { return who_serves(view, place)->machine; };
  const auto merit = [&](Rank place) { return counts[machine_of(place)]; };
  std::vector<Rank> places;
  while (places.size() < wish.count) {
    const auto best = std::ranges::max_element(free, {}, merit);  // The first of equals.
    --counts[machine_of(*best)];
    places.push_back(*best);
    free.erase(best);
  }
  return places;
}

}  // namespace stretto
