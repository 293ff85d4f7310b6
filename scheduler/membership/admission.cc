// SPDX-License-Identifier: Apache-2.0
// Admission: the checks, those with the most helpful answers first.
#include "scheduler/membership/admission.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/network/address.h"

namespace stretto {
namespace {

Status refused(std::string cause) { return {Code::kRefused, std::move(cause)}; }

}  // namespace

Status Admission::check(const Join& join) const {
  if (Status status = check_workers(join); !status.ok()) return status;
  if (join.role == Role::kWorker) {
    if (join.shard == 0) return {};
    return refused(
        fmt::format("worker {} says it is shard {}, and workers have none", join.rank, join.shard));
  }
  if (join.shards != config_.shards || join.shard >= join.shards) {
    return refused(
        fmt::format("server {} has {} shards and this is number {}, the scheduler was "
                    "told of {} shards a server",
                    join.rank, join.shards, join.shard, config_.shards));
  }
  if (!check_address(join.address).ok()) {
    return refused(fmt::format("server {} says it listens at '{}', wanted host:port", join.rank,
                               join.address));
  }
  return {};
}

// A server may not know the number of workers of a host; workers do. If the scheduler does not know
// it, the first worker's value counts.
Status Admission::check_workers(const Join& join) const {
  const bool is_worker = join.role == Role::kWorker;
  const bool silent = join.workers == 0 && !is_worker;
  const bool of_hosts = workers() == 0 && join.workers % config_.workers == 0;
  const std::uint64_t nodes =
      join.workers + std::uint64_t{config_.server_processes()} * config_.shards;
  const bool fits =
      silent || join.workers == workers() || (of_hosts && join.workers > 0 && nodes <= kMaxNodes);
  if (fits && join.servers == config_.servers) return {};
  const std::string wanted =
      workers() != 0 ? fmt::format("{} workers", workers())
                     : fmt::format("{} hosts with as many workers each", config_.workers);
  const std::string_view role = name_of(join.role);
  return refused(
      fmt::format("{} {} was told of {} workers and {} servers, the scheduler of {} and "
                  "{} servers",
                  role, join.rank, join.workers, join.servers, wanted, config_.servers));
}

// The rank that a hello asks for, or the lowest free one. A server's shards share a rank, told
// apart by their process.
Result<Rank> Admission::place(const Join& join, Role role, std::uint32_t world) const {
  if (world == 0) {
    return refused(
        fmt::format("{} asks to be a {}, and this job has none", join.host, name_of(role)));
  }
  if (join.rank >= static_cast<std::int64_t>(world) || join.rank < -1) {
    return refused(fmt::format("{} asks for rank {} of {}, ranks are 0 to {}", join.host, join.rank,
                               world, world - 1));
  }
  if (join.rank >= 0) {
    const auto rank = static_cast<Rank>(join.rank);
    auto taken = entries_.find({role, rank, join.shard});
    if (taken == entries_.end()) return rank;
    return refused(
        fmt::format("{} asks to be {}, and {} is that already; two processes have the "
                    "same rank",
                    join.host, taken->second.member.describe(), taken->second.host));
  }
  for (Rank rank = 0; rank < world; ++rank) {
    if (entries_.count({role, rank, join.shard}) != 0) continue;
    auto sibling = entries_.lower_bound({role, rank, 0});
    const bool has_sibling = sibling != entries_.end() && std::get<0>(sibling->first) == role &&
                             std::get<1>(sibling->first) == rank;
    if (!has_sibling || sibling->second.host == join.host) return rank;
  }
  return refused(
      fmt::format("{} asks to be a {}, and all {} have come", join.host, name_of(role), world));
}

Result<Member> Admission::admit(const Join& join) {
  if (Status status = check(join); !status.ok()) return status;
  const Role role = join.role;
  if (told_ == 0) told_ = join.workers;
  Result<Rank> rank =
      place(join, role, role == Role::kWorker ? workers() : config_.server_processes());
  if (!rank.ok()) {
    if (nobody_told()) told_ = 0;
    return rank.status();
  }
  return enter(join, *rank, *rank);
}

Result<Member> Admission::admit_in_place(const Join& join) {
  if (Status status = check(join); !status.ok()) return status;
  const Result<Rank> rank = place(join, join.role, config_.server_numbers());
  return rank.ok() ? Result<Member>(enter(join, *rank, *rank)) : rank.status();
}

Member Admission::enter(const Join& join, Rank rank, Rank number) {
  // Without an exchange among workers their addresses would only fill the roster.
  const bool told = join.role == Role::kServer || config_.most_workers() <= kMostCalledWorkers;
  Member member{.node = next_node_++,
                .role = join.role,
                .rank = rank,
                .shard = join.shard,
                .address = told ? join.address : std::string(),
                .moved_up = number - rank,
                .machine = join.machine};
  if (join.role == Role::kWorker) numbers_.emplace(member.node, number);
  entries_[{join.role, rank, join.shard}] = Entry{member, join.host, join.workers};
  return member;
}

// Checks for a job that can grow only; the sizes that members got at their start are outdated.
Status Admission::check_late(const Join& join) const {
  const bool server = join.role == Role::kServer;
  if (join.shard >= (server ? config_.shards : 1)) {
    return refused(fmt::format("{} asks to be shard {} of a {}, the scheduler was told of {}",
                               join.host, join.shard, name_of(join.role),
                               server ? config_.shards : 1));
  }
  if (server && !check_address(join.address).ok()) {
    return refused(fmt::format("server {} says it listens at '{}', wanted host:port", join.rank,
                               join.address));
  }
  if (entries_.size() < kMaxNodes) return {};
  return refused(
      fmt::format("{} asks to join, and a job has at most {} nodes", join.host, kMaxNodes));
}

Result<Member> Admission::admit_late(const Join& join) {
  if (Status status = check_late(join); !status.ok()) return status;
  Rank next = 0;
  for (const auto& [place, entry] : entries_) {
    const auto& [role, rank, shard] = place;
    if (role != join.role) continue;
    next = rank + 1;
    const bool free = entries_.count({role, rank, join.shard}) == 0 && entry.host == join.host;
    if (free && (join.rank == -1 || join.rank == std::int64_t{rank}))
      return enter(join, rank, entry.member.number());
  }
  if (join.rank == -1 || join.rank == std::int64_t{next}) {
    const bool worker = join.role == Role::kWorker;
    return enter(join, next, worker ? free_number({.rank = next}) : next);
  }
  return refused(fmt::format("{} asks to be {} {}, and the next one of the job is {}", join.host,
                             name_of(join.role), join.rank, next));
}

// A number above the initial ones is a new worker's number at its launcher. A rejoining worker
// keeps its number unless another worker has taken it. Other numbers are ignored: they may be that
// of the worker it replaces.
Rank Admission::free_number(const Join& join) const {
  const auto here = [this](Rank number) {
    return std::ranges::any_of(entries_, [number](const auto& item) {
      const Member& member = item.second.member;
      return member.role == Role::kWorker && member.number() == number;
    });
  };
  const auto known = numbers_.find(join.former);
  if (known != numbers_.end() && !here(known->second)) return known->second;
  Rank least = workers() + config_.restarts;
  bool is_new = join.rank >= std::int64_t{workers()} && join.rank < kMaxNodes;
  for (const auto& [node, number] : numbers_) {
    least = std::max(least, number + 1);
    is_new = is_new && std::int64_t{number} != join.rank;
  }
  return is_new ? static_cast<Rank>(join.rank) : least;
}

Result<Member> Admission::admit_newcomer(Join join) {
  if (join.role != Role::kWorker) {
    return refused(
        fmt::format("{} asks to join as a {}, and the job runs already: only workers can "
                    "join it now",
                    join.host, name_of(join.role)));
  }
  const std::uint32_t here = workers_here();
  if (full()) {
    return refused(
        fmt::format("{} asks to join, and the job has {} of {} workers; one can join when "
                    "another is lost or leaves, or where the job was begun with a larger "
                    "MAX (--workers MIN:MAX)",
                    join.host, here, workers()));
  }
  const Rank number = free_number(join);
  join.rank = -1;
  if (Status status = check_late(join); !status.ok()) return status;
  return enter(join, here, number);
}

void Admission::close_gaps(Role of) {
  std::map<Place, Entry> closed;
  std::map<Rank, Rank> ranks;
  for (auto& [place, entry] : entries_) {
    const auto& [role, rank, shard] = place;
    const Rank next = role == of ? static_cast<Rank>(ranks.size()) : rank;
    const Rank now = role == of ? ranks.emplace(rank, next).first->second : rank;
    entry.member.moved_up += rank - now;
    entry.member.rank = now;
    closed.emplace(Place{role, entry.member.rank, shard}, std::move(entry));
  }
  entries_ = std::move(closed);
}

bool Admission::nobody_told() const {
  return std::none_of(entries_.begin(), entries_.end(),
                      [](const auto& item) { return item.second.told_workers != 0; });
}

void Admission::remove(NodeId node) {
  std::erase_if(entries_, [node](const auto& item) { return item.second.member.node == node; });
  if (nobody_told()) told_ = 0;
}

std::uint32_t Admission::workers_here() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      entries_, [](const auto& item) { return item.second.member.role == Role::kWorker; }));
}

bool Admission::full() const { return workers_here() >= workers(); }

bool Admission::has_worker() const { return workers_here() != 0; }

std::size_t Admission::missing_count() const {
  const std::size_t servers = std::size_t{config_.server_processes()} * config_.shards;
  return std::max(workers(), config_.workers) + servers - entries_.size();
}

std::string Admission::missing() const {
  return missing([](const Member& member) { return member.describe(); }, ", ");
}

std::string Admission::missing(const std::function<std::string(const Member&)>& said,
                               std::string_view separator) const {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t count = 0;
  const auto consider = [&](Role role, Rank rank, std::uint32_t shard) {
    if (entries_.count({role, rank, shard}) != 0) return;
    if (++count > kNamed) return;
    const Member member{.node = 0, .role = role, .rank = rank, .shard = shard, .address = {}};
    text += fmt::format("{}{}", text.empty() ? "" : separator, said(member));
  };
  for (Rank rank = 0; rank < config_.server_processes(); ++rank) {
    for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
      consider(Role::kServer, rank, shard);
    }
  }
  for (Rank rank = 0; rank < workers(); ++rank) consider(Role::kWorker, rank, 0);
  if (workers() == 0) {
    text +=
        fmt::format("{}all workers of {} hosts", text.empty() ? "" : separator, config_.workers);
  }
  if (count > kNamed) text += fmt::format(" and {} more", count - kNamed);
  return text;
}

std::vector<Member> Admission::members() const {
  std::vector<Member> members;
  for (const auto& [place, entry] : entries_) members.push_back(entry.member);
  return members;
}

}  // namespace stretto
