// SPDX-License-Identifier: Apache-2.0
// Admission: the checks in the order in which their answers help most.
#include "scheduler/roll.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/address.h"
#include "van/greeting.h"

namespace stretto {
namespace {

Status refused(std::string cause) { return {Code::kRefused, std::move(cause)}; }

}  // namespace

Status Roll::check(const wire::Hello& hello) const {
  if (Status status = check_greeting(hello, config_.token); !status.ok()) return status;
  if (hello.role() != static_cast<std::uint32_t>(Role::kServer) &&
      hello.role() != static_cast<std::uint32_t>(Role::kWorker)) {
    return refused(fmt::format("{} comes as role {}, wanted a worker or a server", hello.host(),
                               hello.role()));
  }
  if (Status status = check_workers(hello); !status.ok()) return status;
  if (hello.role() == static_cast<std::uint32_t>(Role::kWorker)) {
    if (hello.shard() == 0) return {};
    return refused(fmt::format("worker {} says it is shard {}, and workers have none", hello.rank(),
                               hello.shard()));
  }
  if (hello.shards() != config_.shards || hello.shard() >= hello.shards()) {
    return refused(
        fmt::format("server {} has {} shards and this is number {}, the scheduler was "
                    "told of {} shards a server",
                    hello.rank(), hello.shards(), hello.shard(), config_.shards));
  }
  if (!check_address(hello.address()).ok()) {
    return refused(fmt::format("server {} says it listens at '{}', wanted host:port", hello.rank(),
                               hello.address()));
  }
  return {};
}

// A server may not know how many workers a host has; a worker does, and the first one's word counts
// if the scheduler does not.
Status Roll::check_workers(const wire::Hello& hello) const {
  const bool is_worker = hello.role() == static_cast<std::uint32_t>(Role::kWorker);
  const bool silent = hello.workers() == 0 && !is_worker;
  const bool of_hosts = workers() == 0 && hello.workers() % config_.workers == 0;
  const std::uint64_t nodes = hello.workers() + std::uint64_t{config_.servers} * config_.shards;
  const bool fits = silent || hello.workers() == workers() ||
                    (of_hosts && hello.workers() > 0 && nodes <= kMaxNodes);
  if (fits && hello.servers() == config_.servers) return {};
  const std::string wanted =
      workers() != 0 ? fmt::format("{} workers", workers())
                     : fmt::format("{} hosts with as many workers each", config_.workers);
  const std::string_view role = name_of(static_cast<Role>(hello.role()));
  return refused(
      fmt::format("{} {} was told of {} workers and {} servers, the scheduler of {} and "
                  "{} servers",
                  role, hello.rank(), hello.workers(), hello.servers(), wanted, config_.servers));
}

// The rank that a hello asks for, or the lowest free one. A server's shards share a rank, told
// apart by their process.
Result<Rank> Roll::place(const wire::Hello& hello, Role role) const {
  const std::uint32_t world = role == Role::kWorker ? workers() : config_.servers;
  if (hello.rank() >= static_cast<std::int64_t>(world) || hello.rank() < -1) {
    return refused(fmt::format("{} asks for rank {} of {}, ranks are 0 to {}", hello.host(),
                               hello.rank(), world, world - 1));
  }
  if (hello.rank() >= 0) {
    const auto rank = static_cast<Rank>(hello.rank());
    auto taken = entries_.find({role, rank, hello.shard()});
    if (taken == entries_.end()) return rank;
    return refused(
        fmt::format("{} asks to be {}, and {} is that already; two processes have the "
                    "same rank",
                    hello.host(), taken->second.member.describe(), taken->second.host));
  }
  for (Rank rank = 0; rank < world; ++rank) {
    if (entries_.count({role, rank, hello.shard()}) != 0) continue;
    auto sibling = entries_.lower_bound({role, rank, 0});
    const bool has_sibling = sibling != entries_.end() && std::get<0>(sibling->first) == role &&
                             std::get<1>(sibling->first) == rank;
    if (!has_sibling || sibling->second.host == hello.host()) return rank;
  }
  return refused(
      fmt::format("{} asks to be a {}, and all {} have come", hello.host(), name_of(role), world));
}

Result<Member> Roll::admit(const wire::Hello& hello) {
  if (Status status = check(hello); !status.ok()) return status;
  const auto role = static_cast<Role>(hello.role());
  if (told_ == 0) told_ = hello.workers();
  Result<Rank> rank = place(hello, role);
  if (!rank.ok()) {
    if (nobody_told()) told_ = 0;
    return rank.status();
  }
  Member member{.node = next_node_++,
                .role = role,
                .rank = *rank,
                .shard = hello.shard(),
                .address = hello.address()};
  entries_[{role, *rank, hello.shard()}] = Entry{member, hello.host(), hello.workers()};
  return member;
}

bool Roll::nobody_told() const {
  return std::none_of(entries_.begin(), entries_.end(),
                      [](const auto& item) { return item.second.told_workers != 0; });
}

void Roll::remove(NodeId node) {
  std::erase_if(entries_, [node](const auto& item) { return item.second.member.node == node; });
  if (nobody_told()) told_ = 0;
}

bool Roll::has_worker() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& item) { return item.second.member.role == Role::kWorker; });
}

std::size_t Roll::missing_count() const {
  const std::size_t servers = std::size_t{config_.servers} * config_.shards;
  return std::max(workers(), config_.workers) + servers - entries_.size();
}

std::string Roll::missing() const {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t count = 0;
  const auto consider = [&](Role role, Rank rank, std::uint32_t shard) {
    if (entries_.count({role, rank, shard}) != 0) return;
    if (++count > kNamed) return;
    const Member member{.node = 0, .role = role, .rank = rank, .shard = shard, .address = {}};
    text += fmt::format("{}{}", text.empty() ? "" : ", ", member.describe());
  };
  for (Rank rank = 0; rank < config_.servers; ++rank) {
    for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
      consider(Role::kServer, rank, shard);
    }
  }
  for (Rank rank = 0; rank < workers(); ++rank) consider(Role::kWorker, rank, 0);
  if (workers() == 0) {
    text += fmt::format("{}all workers of {} hosts", text.empty() ? "" : ", ", config_.workers);
  }
  if (count > kNamed) text += fmt::format(" and {} more", count - kNamed);
  return text;
}

std::vector<Member> Roll::members() const {
  std::vector<Member> members;
  for (const auto& [place, entry] : entries_) members.push_back(entry.member);
  return members;
}

}  // namespace stretto
