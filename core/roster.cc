// SPDX-License-Identifier: Apache-2.0
// Members are few and lookups are rare, so a vector holds them.
#include "core/roster.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

std::string Member::describe() const {
  std::string text = fmt::format("{} {}", stretto::name_of(role), number());
  if (role == Role::kServer && shard != 0) text += fmt::format(" shard {}", shard);
  return text;
}

NodeId Roster::newest() const {
  NodeId newest = 0;
  for (const Member& member : members) newest = std::max(newest, member.node);
  return newest;
}

bool Roster::servers_return() const {
  return settings.servers_return() && std::ranges::all_of(members, [](const Member& member) {
           return member.role != Role::kServer || member.shard == 0;
         });
}

const Member* Roster::find(NodeId node) const {
  auto found = std::find_if(members.begin(), members.end(),
                            [node](const Member& member) { return member.node == node; });
  return found == members.end() ? nullptr : &*found;
}

}  // namespace stretto
