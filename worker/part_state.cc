// SPDX-License-Identifier: Apache-2.0
// One thing at a time in each lane.
#include "worker/part_state.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

ValueInfo LastValue::info_of(const wire::ValueFacts& facts) const {
  const std::uint64_t all = facts.version - std::min(facts.version, version_);
  const std::uint64_t own = facts.own_applied - std::min(facts.own_applied, applied_);
  return {.version = facts.version,
          .staleness = all - std::min(all, own),
          .applied = facts.own_applied,
          .slowest = facts.slowest,
          .spread = facts.spread};
}

// A pull may go while our last round is still open at the server; another share may not.
bool PartState::may_begin(const OperationLane& lane, const Operation& operation) const {
  if (lane.current != nullptr || operation.paused) return false;
  return operation.pushes() ? !awaiting_done_ : !lane.gave_up;
}

void PartState::begin(OperationLane& lane, const OperationPtr& operation) {
  STRETTO_CHECK(lane.current == nullptr && !operation->ended);
  lane.current = operation;
  if (!operation->pushes()) return;
  ++rounds_;
  awaiting_done_ = collects_ && !operation->wants_value();
}

bool PartState::enter(LaneName name, const OperationPtr& operation) {
  OperationLane& lane = lanes_[name];
  if (!lane.waiting.empty() || !may_begin(lane, *operation)) {
    lane.waiting.push_back(operation);
    return false;
  }
  begin(lane, operation);
  return true;
}

OperationPtr PartState::next(LaneName name) {
  OperationLane& lane = lanes_[name];
  if (lane.waiting.empty() || !may_begin(lane, *lane.waiting.front())) return nullptr;
  OperationPtr next = std::move(lane.waiting.front());
  lane.waiting.pop_front();
  begin(lane, next);
  return next;
}

OperationPtr PartState::end(LaneName lane) {
  STRETTO_CHECK(lanes_[lane].current != nullptr);
  return std::exchange(lanes_[lane].current, nullptr);
}

PartState::Verdict PartState::judge(LaneName name, bool answers_push) const {
  const OperationLane& lane = lanes_[name];
  if (lane.gave_up && !answers_push) return Verdict::kGivenUp;
  const bool wanted = lane.current != nullptr && lane.current->wants_value();
  if (!wanted || codec.decoding) return Verdict::kUnwanted;
  return codec.encoding && name == kShares ? Verdict::kTooEarly : Verdict::kWanted;
}

void PartState::take_back(LaneName name, const OperationPtr& operation) {
  OperationLane& lane = lanes_[name];
  if (lane.current != operation) return;
  lane.current = nullptr;
  if (!operation->pushes()) return;
  STRETTO_CHECK(rounds_ > 0);
  --rounds_;
  awaiting_done_ = false;
}

void PartState::give_up(LaneName name, const OperationPtr& operation) {
  OperationLane& lane = lanes_[name];
  std::erase(lane.waiting, operation);
  if (lane.current != operation || codec.decoding) return;
  lane.current = nullptr;
  lane.gave_up = true;
}

std::uint64_t PartState::rounds_begun() const {
  return rounds_ + static_cast<std::uint64_t>(std::ranges::count_if(
                       lanes_[kShares].waiting, [](const auto& next) { return next->pushes(); }));
}

}  // namespace stretto
