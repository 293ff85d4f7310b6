// SPDX-License-Identifier: Apache-2.0
// Who has come to which barrier.
#include "scheduler/barrier.h"

#include <algorithm>

namespace stretto {

Barriers::Outcome Barriers::enter(std::uint64_t number, NodeId node, std::size_t expected) {
  if (number <= completed_) return Outcome::kPast;
  if (number > completed_ + kMostAhead) return Outcome::kOutOfBounds;
  std::set<NodeId>& here = open_[number];
  here.insert(node);
  if (here.size() < expected) return Outcome::kWaiting;
  completed_ = number;
  open_.erase(number);
  return Outcome::kComplete;
}

bool Barriers::waits_for(NodeId node) const {
  return std::any_of(open_.begin(), open_.end(),
                     [node](const auto& item) { return item.second.count(node) == 0; });
}

}  // namespace stretto
