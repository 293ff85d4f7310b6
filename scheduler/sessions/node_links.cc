// SPDX-License-Identifier: Apache-2.0
// Lookup of links in both directions.
#include "scheduler/sessions/node_links.h"

#include <algorithm>

namespace stretto {

void NodeLinks::add(NodeId node, LinkId link, Time now) {
  ends_[node] = {.link = link, .last_heard = now};
  nodes_[link] = node;
}

NodeId NodeLinks::heard(LinkId link, Time now) {
  const auto known = nodes_.find(link);
  if (known == nodes_.end()) return 0;
  ends_.at(known->second).last_heard = now;
  return known->second;
}

void NodeLinks::forget(NodeId node) {
  const auto found = ends_.find(node);
  if (found != ends_.end() && found->second.link == 0) ends_.erase(found);
}

std::size_t NodeLinks::expected() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ends_, [](const auto& end) { return end.second.link == 0; }));
}

NodeId NodeLinks::remove(LinkId link) {
  const auto known = nodes_.find(link);
  if (known == nodes_.end()) return 0;
  const NodeId node = known->second;
  nodes_.erase(known);
  ends_.erase(node);
  return node;
}

LinkId NodeLinks::of(NodeId node) const {
  const auto found = ends_.find(node);
  return found == ends_.end() ? 0 : found->second.link;
}

std::vector<LinkId> NodeLinks::all() const {
  std::vector<LinkId> links;
  for (const auto& [node, end] : ends_) links.push_back(end.link);
  return links;
}

std::vector<NodeLinks::Silence> NodeLinks::silent(Time now, Duration limit) const {
  std::vector<Silence> found;
  for (const auto& [node, end] : ends_) {
    const Duration lasts = now - end.last_heard;
    if (lasts > limit) found.push_back({.node = node, .lasts = lasts});
  }
  return found;
}

void NodeLinks::forgive(Time now) {
  for (auto& [node, end] : ends_) end.last_heard = now;
}

}  // namespace stretto
