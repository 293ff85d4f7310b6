// SPDX-License-Identifier: Apache-2.0
// Which servers may leave, and which have to stay.
#include "scheduler/migration/server_drains.h"

namespace stretto {
namespace {

constexpr std::size_t kMostAsked = 64;

}  // namespace

void ServerDrains::ask(const Member& member, std::uint32_t asker) {
  if (asked_.size() < kMostAsked) asked_.push_back({.member = member, .asker = asker});
}

// The whole process leaves, whichever shard asks.
bool ServerDrains::may_go(const Member& member, const View& view, const Awaited& awaited) const {
  const Member* known = view.find(member.node);
  if (known == nullptr) return true;
  std::uint32_t have_all = 0;
  for (const auto& [node, other] : view.members) {
    const bool is_other = other.role == Role::kServer && other.rank == known->rank &&
                          other.number() != known->number();
    if (is_other && let_go_.contains(node)) return false;
    if (is_other && awaited && awaited(node)) return false;
    have_all += is_other && view.caught_up.contains(node) ? 1 : 0;
  }
  return known->standby || have_all == config_.shards;
}

std::vector<MigrationResult> ServerDrains::follow(const View& view, const Awaited& awaited) {
  std::vector<MigrationResult> answers;
  std::erase_if(let_go_, [&view](NodeId node) { return view.find(node) == nullptr; });
  std::erase_if(asked_, [&](const Farewell& one) {
    const bool may = may_go(one.member, view, awaited);
    if (may) answers.push_back({.asker = one.asker, .server = one.member.number()});
    if (may) let_go_.insert(one.member.node);
    return may;
  });
  return answers;
}

}  // namespace stretto
