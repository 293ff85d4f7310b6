// SPDX-License-Identifier: Apache-2.0
// Collects reports, and decides when they suffice.
#include "worker/peers/group_agreement.h"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

using Finished = control::Regroup::Finished;

std::uint64_t finished_of(const Finished& all, std::size_t part) {
  return all.least + (part < all.ahead.size() ? all.ahead[part] : 0);
}

}  // namespace

Finished least_of(const Finished& one, const Finished& other) {
  const std::size_t parts = std::max(one.ahead.size(), other.ahead.size());
  Finished made{.tensor = one.tensor, .least = std::min(one.least, other.least)};
  if (parts == 0) return made;
  std::vector<std::uint64_t> counts(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    counts[part] = std::min(finished_of(one, part), finished_of(other, part));
  }
  made.least = *std::ranges::min_element(counts);
  for (const std::uint64_t count : counts) {
    made.ahead.push_back(static_cast<std::uint32_t>(count - made.least));
  }
  if (std::ranges::all_of(made.ahead, [](std::uint32_t more) { return more == 0; })) {
    made.ahead.clear();
  }
  return made;
}

void GroupAgreement::note(NodeId from, control::Regroup said) {
  const auto told = decided_.find(from);
  if (told != decided_.end() && said.generation < told->second.generation) {
    const auto goes_along = [&said](NodeId node) { return std::ranges::count(said.members, node); };
    if (std::ranges::all_of(told->second.members, goes_along)) return;
  }
  said_[from] = std::move(said);
}

bool GroupAgreement::all_say(const std::vector<NodeId>& nodes,
                             const std::vector<NodeId>& members) const {
  return std::ranges::all_of(nodes, [&](NodeId node) {
    const auto found = said_.find(node);
    return found != said_.end() && found->second.members == members;
  });
}

std::optional<std::vector<NodeId>> GroupAgreement::group_of(
    const control::Regroup& own, const std::vector<NodeId>& current) const {
  if (all_say(own.members, own.members)) return own.members;
  std::vector<NodeId> left;  // Remaining members of the current group.
  for (const NodeId node : current) {
    if (std::ranges::count(own.members, node) != 0) left.push_back(node);
  }
  if (left.empty() || left == current) return {};
  for (const NodeId node : left) {
    const auto found = said_.find(node);
    if (found == said_.end()) return {};
    const std::vector<NodeId>& members = found->second.members;
    for (const NodeId each : left) {
      if (std::ranges::count(members, each) == 0) return {};
    }
  }
  return left;
}

std::vector<Finished> GroupAgreement::finished_by(const std::vector<NodeId>& group) const {
  std::map<std::uint32_t, Finished> least;
  for (const NodeId node : group) {
    for (const Finished& each : said_.at(node).finished) {
      const auto [known, is_new] = least.try_emplace(each.tensor, each);
      if (!is_new) known->second = least_of(known->second, each);
    }
  }
  std::vector<Finished> finished;
  for (auto& [tensor, each] : least) finished.push_back(std::move(each));
  return finished;
}

std::optional<control::Regroup> GroupAgreement::decide(NodeId self,
                                                       const std::vector<NodeId>& current) {
  const auto own = said_.find(self);
  if (own == said_.end()) return {};
  std::optional<std::vector<NodeId>> group = group_of(own->second, current);
  if (!group) return {};
  control::Regroup made{.decided = true, .finished = finished_by(*group)};
  for (const auto& [node, said] : said_) {
    made.generation = std::max(made.generation, said.generation + 1);
  }
  for (const NodeId node : *group) {
    said_.erase(node);
    decided_[node] = {.generation = made.generation, .members = *group};
  }
  made.members = *std::move(group);
  return made;
}

}  // namespace stretto
