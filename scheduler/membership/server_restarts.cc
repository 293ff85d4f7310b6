// SPDX-License-Identifier: Apache-2.0
// Which servers can be replaced, and which process replaces them.
#include "scheduler/membership/server_restarts.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

std::optional<std::string> ServerRestarts::refusal() const {
  if (!wanted_) return "";
  if (!one_shard_) return "; another could only take the place of a server with one shard";
  if (!kept_.empty()) {
    return fmt::format(
        "; another could not take its place: of tensor '{}' servers keep more than the sum of "
        "its last round",
        kept_);
  }
  if (left_ == 0) return "; no more servers may be replaced (--restarts, STRETTO_SERVER_RESTARTS)";
  return std::nullopt;
}

void ServerRestarts::await(const Member& lost, const std::string& cause, Time until) {
  --left_;
  away_[lost.node] = {.member = lost, .cause = cause, .until = until};
}

const Member* ServerRestarts::place_for(const Join& join) const {
  if (join.role != Role::kServer) return nullptr;
  for (const auto& [node, away] : away_) {
    const bool its = join.rank < 0 || join.rank == std::int64_t{away.member.number()} ||
                     stands_in(join.rank, away.member);
    if (its && join.shard == away.member.shard) return &away.member;
  }
  return nullptr;
}

std::optional<std::pair<Member, std::string>> ServerRestarts::overdue(Time now) const {
  for (const auto& [node, away] : away_) {
    if (now >= away.until) return std::pair(away.member, away.cause);
  }
  return std::nullopt;
}

Time ServerRestarts::next_due() const {
  Time due = Time::max();
  for (const auto& [node, away] : away_) due = std::min(due, away.until);
  return due;
}

}  // namespace stretto
