// SPDX-License-Identifier: Apache-2.0
// Two orders of one list: by rank, and by node.
#include "server/aggregation/contributors.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"

namespace stretto {

Contributors::Contributors(std::vector<Contributor> all) : by_rank_(std::move(all)) {
  std::ranges::sort(by_rank_, {}, &Contributor::rank);
  by_node_.reserve(by_rank_.size());
  for (const Contributor& one : by_rank_) {
    by_node_.emplace_back(one.node, static_cast<std::uint32_t>(by_node_.size()));
  }
  std::ranges::sort(by_node_);
  const auto same_node = [](const auto& a, const auto& b) { return a.first == b.first; };
  STRETTO_CHECK(std::ranges::adjacent_find(by_node_, same_node) == by_node_.end());
  STRETTO_CHECK(std::ranges::adjacent_find(by_rank_, {}, &Contributor::rank) == by_rank_.end());
}

std::optional<std::uint32_t> Contributors::find(NodeId node) const {
  if (by_node_.empty()) return {};
  // Nodes that joined in sequence have consecutive ids.
  const std::size_t guess = node - by_node_.front().first;
  if (guess < by_node_.size() && by_node_[guess].first == node) return by_node_[guess].second;
  const auto place =
      std::ranges::lower_bound(by_node_, node, {}, &std::pair<NodeId, std::uint32_t>::first);
  if (place == by_node_.end() || place->first != node) return {};
  return place->second;
}

bool Contributors::has_rank(std::uint64_t rank) const {
  const auto place = std::ranges::lower_bound(by_rank_, rank, {}, &Contributor::rank);
  return place != by_rank_.end() && place->rank == rank;
}

std::vector<Rank> Contributors::ranks_of(const std::vector<NodeId>& nodes) const {
  std::vector<Rank> ranks;
  for (const NodeId node : nodes) {
    if (const auto index = find(node)) ranks.push_back(by_rank_[*index].rank);
  }
  return ranks;
}

std::string name_in(const Contributors& group, NodeId worker) {
  const auto index = group.find(worker);
  return index ? fmt::format("worker {}", group.at(*index).rank)
               : fmt::format("the worker of identity {}", worker);
}

ContributorGroup make_group(std::vector<Contributor> all) {
  return std::make_shared<const Contributors>(std::move(all));
}

ContributorGroup without(const ContributorGroup& group, const std::set<NodeId>& gone) {
  std::vector<Contributor> stay = group->all();
  std::erase_if(stay, [&gone](const Contributor& one) { return gone.contains(one.node); });
  return stay.size() == group->size() ? group : make_group(std::move(stay));
}

std::vector<NodeId> Sources::nodes() const {
  std::vector<NodeId> nodes;
  if (group_ == nullptr) {
    if (alone_ != 0) nodes.push_back(alone_);
    return nodes;
  }
  for (const Contributor& one : group_->all()) nodes.push_back(one.node);
  return nodes;
}

}  // namespace stretto
