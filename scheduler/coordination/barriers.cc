// SPDX-License-Identifier: Apache-2.0
// The nodes at each barrier.
#include "scheduler/coordination/barriers.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

Barriers::Outcome Barriers::enter(std::uint64_t number, NodeId node, std::size_t expected,
                                  Purpose purpose) {
  if (number <= completed_) return Outcome::kPast;
  if (number > completed_ + kMostAhead) return Outcome::kOutOfBounds;
  std::set<NodeId>& here = open_[number];
  here.erase(node);  // It may have given up, and returned for another purpose.
  if (here.empty()) purpose_ = purpose;
  if (purpose != purpose_) return Outcome::kMixed;
  here.insert(node);
  last_ = node;
  if (here.size() < expected) return Outcome::kWaiting;
  completed_ = number;
  open_.erase(number);
  return Outcome::kComplete;
}

std::set<NodeId> Barriers::pass(std::uint64_t number) {
  std::set<NodeId> waited;
  completed_ = std::max(completed_, number);
  for (auto it = open_.begin(); it != open_.end() && it->first <= completed_;) {
    waited.merge(it->second);
    it = open_.erase(it);
  }
  return waited;
}

std::optional<Barriers::Open> Barriers::expect(const std::set<NodeId>& nodes) {
  for (auto& [number, here] : open_) {
    std::erase_if(here, [&nodes](NodeId node) { return !nodes.contains(node); });
  }
  std::erase_if(open_, [](const auto& barrier) { return barrier.second.empty(); });
  const auto next = open_.find(completed_ + 1);
  if (next == open_.end() || next->second.size() < nodes.size()) return {};
  open_.erase(next);
  ++completed_;
  return Open{.number = completed_, .purpose = purpose_, .last = last_};
}

bool Barriers::withdraw(std::uint64_t number, NodeId node) {
  if (number <= completed_) return true;
  const auto open = open_.find(number);
  if (open != open_.end() && open->second.erase(node) != 0 && open->second.empty()) {
    open_.erase(open);
  }
  return false;
}

Status Barriers::mixed(const Purpose& purpose) const {
  const bool ours = purpose.meeting == Meeting::kCheckpoint;
  const bool theirs = purpose_.meeting == Meeting::kCheckpoint;
  if (ours && theirs) {
    return {
        Code::kMismatch,
        fmt::format("this worker makes a checkpoint of step {}, others make one of step {}; all "
                    "make it of the same step",
                    purpose.step, purpose_.step)};
  }
  if (ours || theirs) {
    return {Code::kMismatch,
            fmt::format("{} a checkpoint, and {} at a barrier or sit out; all make checkpoints at "
                        "the same place of the program",
                        ours ? "this worker makes" : "others make", ours ? "others are" : "it is")};
  }
  if (purpose.meeting == Meeting::kSitOut) {
    return {Code::kMismatch, "others wait at a barrier, and do not sit out; wait, too"};
  }
  return {Code::kMismatch, "others sit out until all do, and come to no barrier before that"};
}

std::set<NodeId> Barriers::give_up(NodeId absent) {
  std::set<NodeId> waited;
  for (auto it = open_.begin(); it != open_.end();) {
    if (it->second.count(absent) != 0) {
      ++it;
      continue;
    }
    waited.merge(it->second);
    it = open_.erase(it);
  }
  return waited;
}

}  // namespace stretto
