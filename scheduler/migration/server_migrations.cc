// SPDX-License-Identifier: Apache-2.0
// Requests, processes that join or fail to, and answers.
#include "scheduler/migration/server_migrations.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/membership/standbys.h"
#include "scheduler/migration/placement.h"

namespace stretto {
namespace {

constexpr Duration kComes = 10s;         // How long a started process may take to join.
constexpr Duration kRest = 2s;           // From its first shard to its last, at least.
constexpr std::uint32_t kMostTries = 3;  // Processes started for a migration.
constexpr std::size_t kMostAskers = 64;  // Requesters of a migration.

Status cannot(std::string cause) { return {Code::kUnsupported, std::move(cause)}; }

std::string because(const std::string& cause) { return cause.empty() ? "" : ": " + cause; }

std::uint32_t shards_here(const View& view, Rank number) {
  std::uint32_t here = 0;
  for (const auto& [node, member] : view.members) {
    here += member.role == Role::kServer && member.number() == number && !member.left ? 1 : 0;
  }
  return here;
}

const Member* who_comes(const View& view, Rank number) {
  for (const auto& [node, member] : view.members) {
    if (member.role == Role::kServer && member.number() == number && !member.left) return &member;
  }
  return nullptr;
}

// The number of the replacement that the launcher starts for this server.
Rank launchers_number(Rank number, const Config& config) {
  if (config.is_guest_server(number)) return number % config.servers;
  return (number + config.servers) % (config.servers * JobSettings::kMostReplicas);
}

// With replication the new server becomes a standby; otherwise it has been promoted by then.
bool has_all(Rank number, const Config& config, const View& view) {
  const auto count = std::ranges::count_if(view.members, [&](const auto& item) {
    const Member& member = item.second;
    return member.role == Role::kServer && member.number() == number &&
           view.caught_up.contains(member.node);
  });
  return config.job.replicated() && count == std::int64_t{config.shards};
}

bool is_in(Rank number, const Config& config, const View& view) {
  const Member* serves = who_serves(view, number % config.servers);
  return (serves != nullptr && serves->number() == number) || has_all(number, config, view);
}

}  // namespace

Status ServerMigrations::refusal(bool guest) const {
  if (config_.servers == 0) return cannot("the job has no servers");
  if (config_.job.replicated() && guest) return {};
  if (config_.job.replicated()) {
    return cannot(
        "each server has another that stands by for it (--replicas 2): end it with SIGTERM, and "
        "that one has its place");
  }
  if (config_.job.servers_move()) return {};
  return cannot("workers keep what a move takes only in jobs that were started with --restarts K");
}

Status ServerMigrations::begin(Rank server, const std::string& host, std::uint32_t asker,
                               const View& view, Time now) {
  if (Status status = refusal(); !status.ok()) return status;
  if (config_.is_guest_server(server) && who_comes(view, server) == nullptr) {
    return {Code::kInvalidArgument,
            fmt::format("there is no server {}: the job has {} places, of servers 0 to {}", server,
                        config_.servers, config_.servers - 1)};
  }
  const Rank place = server % config_.servers;
  const Member* serves = who_serves(view, place);
  if (serves == nullptr) {
    return {Code::kServerLost,
            fmt::format("server {} is not in the job: another is awaited in its place", server)};
  }
  if (server >= config_.servers && serves->number() != server) {
    return {Code::kInvalidArgument,
            fmt::format("server {} does not serve: {} has that place", server, serves->describe())};
  }
  const auto [found, first] = moves_.try_emplace(place);
  Move& move = found->second;
  if (!first && !host.empty() && host != move.order.host) {
    return {Code::kRefused, fmt::format("the place of {} is being handed over to server {} already",
                                        serves->describe(), move.order.server)};
  }
  if (move.askers.size() < kMostAskers &&
      std::ranges::find(move.askers, asker) == move.askers.end())
    move.askers.push_back(asker);
  if (!first) return {};
  move.from = serves->node;
  move.order = {.server = launchers_number(serves->number(), config_),
                .from = serves->number(),
                .host = host};
  // A process that a previous scheduler started may have joined already.
  adopt(move, view, now);
  if (move.comes == 0) start(move, now);
  return {};
}

void ServerMigrations::adopt(Move& move, const View& view, Time now) const {
  const Member* from = view.find(move.from);
  if (move.guest || from == nullptr || from->left) return;
  const Member* here = Standbys::of(*from, view);
  if (here == nullptr || guests_.is_given_up(here->number(), now)) return;
  move.order.server = here->number();
  move.guest = config_.is_guest_server(here->number());
  move.owner = 0;
  move.comes = here->node;
  move.ended = move.whole = move.anew = false;
  move.deadline = now + kComes;  // For its remaining shards.
}

void ServerMigrations::leave_to_launcher(Move& move, const Config& config, Time now) {
  std::erase(move.askers, move.owner);
  move.order.server = launchers_number(move.order.from, config);
  move.guest = move.ended = move.whole = false;
  move.anew = true;
  move.owner = move.tries = 0;
  move.comes = 0;
  move.deadline = now + kComes;
  move.why = {};
}

Result<std::vector<ServerMigrations::JoinTicket>> ServerMigrations::invite(
    const PlacementRequest& wish, std::uint32_t asker, const View& view, Time now) {
  if (Status status = refusal(true); !status.ok()) return status;
  if (wish.known_as) return go_on_as(*wish.known_as, wish, asker, view, now);
  std::map<Rank, Rank> taken;
  for (const auto& [place, move] : moves_) taken.emplace(place, move.order.server);
  const Result<std::vector<Rank>> places = places_for(wish, config_, view, taken);
  if (!places.ok()) return places.status();
  std::vector<JoinTicket> invitations;
  for (const Rank place : *places) {
    const Member& serves = *who_serves(view, place);
    const std::optional<Rank> number = guests_.free(place, view, now);
    if (!number) {
      return Status(Code::kRefused,
                    fmt::format("servers that were to have the place of {} before were given up, "
                                "and may still run: try again in a minute",
                                serves.describe()));
    }
    invitations.push_back({*number, serves.number()});
  }
  for (const auto& [number, from] : invitations) {
    const Rank place = number % config_.servers;
    guests_.tell(number, asker);
    moves_.emplace(place, Move{.from = who_serves(view, place)->node,
                               .order = {.server = number, .from = from, .host = {}},
                               .askers = {asker},
                               .deadline = now + kComes,
                               .guest = true,
                               .owner = asker});
  }
  return invitations;
}

Result<std::vector<ServerMigrations::JoinTicket>> ServerMigrations::go_on_as(
    Rank number, const PlacementRequest& wish, std::uint32_t asker, const View& view, Time now) {
  if (!config_.is_guest_server(number) || number >= config_.server_numbers()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("no server joins this job as server {}", number));
  }
  guests_.tell(number, asker);
  const Rank place = number % config_.servers;
  const Rank from = wish.server.value_or(place);
  if (is_in(number, config_, view)) {  // Whichever server replaces it later.
    if (known_.size() < kMaxNodes)
      known_.push_back({.asker = asker, .server = number, .from = from, .guest = true});
    return std::vector<JoinTicket>();
  }
  if (guests_.is_given_up(number, now)) {
    return Status(Code::kRefused, fmt::format("server {} has been given up", number));
  }
  const auto [found, first] = moves_.try_emplace(place);
  Move& move = found->second;
  if (!first && who_comes(view, number) != nullptr) adopt(move, view, now);
  if (!first && move.order.server != number) {
    guests_.give_up(number, now);
    return Status(Code::kRefused,
                  fmt::format("the place of server {} is being handed over to server {} already",
                              move.order.from, move.order.server));
  }
  if (move.askers.size() < kMostAskers) move.askers.push_back(asker);
  move.owner = asker;
  if (!first) return std::vector<JoinTicket>();
  const Member* serves = who_serves(view, place);
  move.from = serves == nullptr ? 0 : serves->node;
  move.order = {.server = number, .from = from, .host = {}};
  move.guest = true;
  move.deadline = now + kComes;
  return std::vector<JoinTicket>();
}

void ServerMigrations::start(Move& move, Time now) {
  ++move.tries;
  move.comes = 0;
  move.ended = move.whole = false;
  move.loss.clear();
  move.deadline = now + kComes;
  orders_.push_back(move.order);
}

void ServerMigrations::refuse(const StartRefusal& refusal) {
  for (auto& [place, move] : moves_) {
    if (move.order.server == refusal.server && move.comes == 0) {
      move.why = {Code::kResource,
                  fmt::format("server {} could not be started: {}", refusal.server, refusal.why)};
    }
  }
}

void ServerMigrations::note_loss(NodeId node, const std::string& cause) {
  for (auto& [place, move] : moves_) {
    if (move.comes == node) move.loss = cause;
  }
}

void ServerMigrations::forget(std::uint32_t asker) {
  guests_.forget(asker);
  for (auto& [place, move] : moves_) std::erase(move.askers, asker);
}

void ServerMigrations::note_end(Rank server) {
  guests_.end(server);
  for (auto& [place, move] : moves_) {
    if (move.order.server == server) move.ended = true;
  }
}

bool ServerMigrations::note_end(Rank server, std::uint32_t asker) {
  if (!guests_.is_told(server, asker)) return false;
  note_end(server);
  return true;
}

bool ServerMigrations::look(Move& move, const View& view, Time now) {
  const Member* from = view.find(move.from);
  const Member* comes = who_comes(view, move.order.server);
  if (from == nullptr || from->left) {
    const bool has_it = comes != nullptr && !comes->standby;
    if (!has_it) {
      move.why = {Code::kServerLost,
                  fmt::format("server {} was lost before another had all of it", move.order.from)};
    }
    return true;
  }
  if (comes == nullptr && move.comes == 0 && !move.anew) {
    adopt(move, view, now);
    comes = who_comes(view, move.order.server);
  }
  if (comes != nullptr) {
    if (move.comes == 0) move.deadline = std::max(move.deadline, now + kRest);
    move.comes = comes->node;
    move.whole = shards_here(view, move.order.server) == config_.shards;
    if (!move.whole && now >= move.deadline) {
      move.why = {Code::kTimeout, fmt::format("of server {}, which was to have its place, some "
                                              "shards did not come",
                                              move.order.server)};
    }
    return !move.why.ok() || has_all(move.order.server, config_, view);
  }
  if (move.guest && (move.comes != 0 || move.ended)) {
    move.why = {Code::kServerLost, fmt::format("server {}, which was to have its place, was lost "
                                               "before it had all{}",
                                               move.order.server, because(move.loss))};
    return true;
  }
  const Member* other = move.guest ? Standbys::of(*from, view) : nullptr;
  if (other != nullptr) {  // The launcher's server joined first.
    move.why = {Code::kRefused,
                fmt::format("{} stands by for {} already", other->describe(), from->describe())};
    return true;
  }
  // Its process exits, or is killed, before another can be started under its number.
  if (move.comes != 0) {
    move.ended = move.ended || !told_;
    move.comes = 0;
    move.whole = false;
    move.deadline = now + kComes;
  }
  if (move.anew && Standbys::of(*from, view) == nullptr) {
    move.anew = false;
    start(move, now);
  }
  const bool was_lost = move.ended;
  if (was_lost && move.tries < kMostTries) {
    start(move, now);
  } else if (was_lost) {
    move.why = {Code::kServerLost,
                fmt::format("server {}, which was to have its place, was lost before it had all, "
                            "{} times{}",
                            move.order.server, move.tries, because(move.loss))};
  } else if (move.why.ok() && now >= move.deadline) {
    move.why = {Code::kTimeout, fmt::format("server {}, which was to have its place, did not "
                                            "come within {} s",
                                            move.order.server, seconds(kComes))};
  }
  return !move.why.ok();
}

std::vector<MigrationResult> ServerMigrations::follow(const View& view, Time now) {
  std::vector<MigrationResult> answers = std::exchange(known_, {});
  for (auto next = moves_.begin(); next != moves_.end();) {
    Move& move = next->second;
    if (!look(move, view, now)) {
      ++next;
      continue;
    }
    const bool failed = move.guest && !move.why.ok();
    if (failed && !move.ended) guests_.give_up(move.order.server, now);
    const Member* from = view.find(move.from);
    const bool others = std::ranges::any_of(
        move.askers, [&move](std::uint32_t asker) { return asker != move.owner; });
    const bool goes_on = failed && others && from != nullptr && !from->left;
    for (const std::uint32_t asker : move.askers) {
      if (goes_on && asker != move.owner) continue;  // The launcher's server replaces it.
      answers.push_back({.asker = asker,
                         .server = move.order.server,
                         .why = move.why,
                         .from = move.order.from,
                         .guest = move.guest});
    }
    if (goes_on) leave_to_launcher(move, config_, now);
    next = goes_on ? std::next(next) : moves_.erase(next);
  }
  return answers;
}

Time ServerMigrations::next_due() const {
  Time due = Time::max();
  for (const auto& [place, move] : moves_) {
    if (!move.whole) due = std::min(due, move.deadline);
  }
  return due;
}

}  // namespace stretto
