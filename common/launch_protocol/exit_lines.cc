// SPDX-License-Identifier: Apache-2.0
// One line, written and read.
#include "common/launch_protocol/exit_lines.h"

#include <fmt/core.h>

#include <charconv>

namespace stretto {
namespace {

constexpr std::string_view kHasEnded = " has ended";

}  // namespace

std::string line_of(const MemberExit& end) {
  return fmt::format("{} {}{}", name_of(end.role), end.rank, kHasEnded);
}

std::optional<MemberExit> member_end_named(std::string_view line) {
  if (!line.ends_with(kHasEnded)) return std::nullopt;
  line.remove_suffix(kHasEnded.size());
  for (const Role role : {Role::kScheduler, Role::kServer, Role::kWorker}) {
    if (!line.starts_with(name_of(role))) continue;
    const std::string_view rank = line.substr(name_of(role).size());
    if (rank.empty() || rank.front() != ' ') return std::nullopt;
    MemberExit end{.role = role};
    const auto [last, error] = std::from_chars(rank.begin() + 1, rank.end(), end.rank);
    if (error != std::errc() || last != rank.end()) return std::nullopt;
    return end;
  }
  return std::nullopt;
}

}  // namespace stretto
