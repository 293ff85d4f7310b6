// SPDX-License-Identifier: Apache-2.0
// The invariants of views. Production code asserts them whenever a view is published; the simulator
// and the property tests check them by the same functions.
#include "core/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "common/check.h"

namespace stretto {
namespace {

std::string violation_of_ranks(const View& view, Role role) {
  std::set<Rank> ranks;
  std::set<std::tuple<Rank, std::uint32_t, bool>> places;
  for (const auto& [node, member] : view.members) {
    if (member.role != role) continue;
    ranks.insert(member.rank);
    if (!places.insert({member.rank, member.shard, member.standby}).second) {
      return fmt::format("two members are {}", member.describe());
    }
  }
  if (ranks.empty() || *ranks.rbegin() + 1 == ranks.size()) return {};
  return fmt::format("{} ranks of a {} reach up to {}", ranks.size(), name_of(role),
                     *ranks.rbegin());
}

std::string violation_of_newcomers(const View& view) {
  const Rank in = view.ranks(Role::kWorker);
  for (const auto& [node, member] : view.members) {
    if (!member.joining) continue;
    if (member.role == Role::kWorker && member.rank >= in && member.from_step == 0) continue;
    return fmt::format("{} is joining with rank {} of {}", member.describe(), member.rank, in);
  }
  return {};
}

std::string violation_of_slots(const View& view) {
  NodeId known = 0;  // Neighbours often share an owner: one lookup for each change.
  for (std::uint32_t slot = 0; slot < view.slots.size(); ++slot) {
    const NodeId owner = view.slots.owner(slot);
    if (owner == known) continue;
    const Member* member = view.find(owner);
    if (member == nullptr || member->role != Role::kServer || member->standby) {
      return fmt::format("slot {} is owned by node {}, which is no server that serves", slot,
                         owner);
    }
    known = owner;
  }
  const bool wanted = view.ranks(Role::kServer) != 0;
  return wanted && view.slots.size() == 0 ? "there are servers, and no slots" : "";
}

std::string violation_of_contributors(const View& view) {
  for (const NodeId node : view.contributors.nodes) {
    const Member* member = view.find(node);
    if (member == nullptr || member->role != Role::kWorker || member->joining) {
      return fmt::format("node {} contributes, and is no worker that is in", node);
    }
  }
  if (view.contributors.nodes.empty() && view.any(Role::kWorker)) return "nobody contributes";
  return {};
}

}  // namespace

SlotMap::SlotMap(std::uint32_t slots, const std::vector<NodeId>& shards)
    : owners_(shards.empty() ? 0 : slots) {
  for (std::uint32_t slot = 0; slot < size(); ++slot) owners_[slot] = shards[slot % shards.size()];
}

void SlotMap::give(std::uint32_t slot, NodeId owner) {
  STRETTO_CHECK(slot < owners_.size() && owner != 0);
  owners_[slot] = owner;
}

std::vector<SlotRun> SlotMap::runs(std::uint32_t first, std::uint32_t count) const {
  std::vector<SlotRun> runs;
  for (std::uint32_t i = 0; i < std::min(count, size()); ++i) {
    const std::uint32_t slot = (first + i) % size();
    if (!runs.empty() && runs.back().owner == owners_[slot] &&
        runs.back().first + runs.back().count == slot) {
      ++runs.back().count;
      continue;
    }
    runs.push_back({.first = slot, .count = 1, .owner = owners_[slot]});
  }
  return runs;
}

const Member* View::find(NodeId node) const {
  const auto found = members.find(node);
  return found == members.end() ? nullptr : &found->second;
}

std::uint32_t View::ranks(Role role) const {
  std::uint32_t ranks = 0;
  for (const auto& [node, member] : members) {
    if (member.role == role && !member.joining) ranks = std::max(ranks, member.rank + 1);
  }
  return ranks;
}

bool View::any(Role role) const {
  return std::any_of(members.begin(), members.end(), [role](const auto& item) {
    return item.second.role == role && !item.second.left && !item.second.joining;
  });
}

std::string violation(const View& view) {
  if (view.epoch == 0) return {};
  if (view.fence == 0 || view.fence > view.epoch) {
    return fmt::format("fence {} in epoch {}", view.fence, view.epoch);
  }
  for (const auto& [node, member] : view.members) {
    if (node != member.node || node <= 1) return fmt::format("node {} is {}", node, member.node);
  }
  for (const Role role : {Role::kWorker, Role::kServer}) {
    if (std::string text = violation_of_ranks(view, role); !text.empty()) return text;
  }
  if (std::string text = violation_of_newcomers(view); !text.empty()) return text;
  if (std::string text = violation_of_slots(view); !text.empty()) return text;
  return violation_of_contributors(view);
}

std::string violation(const View& before, const View& after) {
  if (after.epoch != before.epoch + 1) {
    return fmt::format("epoch {} follows {}", after.epoch, before.epoch);
  }
  if (after.fence < before.fence) {
    return fmt::format("fence {} follows {}", after.fence, before.fence);
  }
  if (after.contributors.from_round < before.contributors.from_round) {
    return fmt::format("round {} follows {}", after.contributors.from_round,
                       before.contributors.from_round);
  }
  if (after.question < before.question || after.step < before.step) {
    return fmt::format("question {} and step {} follow {} and {}", after.question, after.step,
                       before.question, before.step);
  }
  const NodeId newest = before.members.empty() ? 0 : before.members.rbegin()->first;
  for (const auto& [node, member] : after.members) {
    const Member* was = before.find(node);
    const bool same = was == nullptr
                          ? node > newest || before.epoch == 0
                          : was->role == member.role && was->shard == member.shard &&
                                was->address == member.address && (was->joining || !member.joining);
    if (!same) return fmt::format("node {} is another process", node);
  }
  return {};
}

}  // namespace stretto
