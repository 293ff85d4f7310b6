// SPDX-License-Identifier: Apache-2.0
// One thing at a time in each lane.
#include "worker/operations/part_state.h"

#include <algorithm>

namespace stretto {

bool PartState::enter(LaneName name, const OperationPtr& operation) {
  OperationLane& lane = lanes_[name];
  if (!lane.waiting.empty() || !may_begin(lane, *operation)) {
    lane.waiting.push_back(operation);
    return false;
  }
  begin(lane, operation);
  return true;
}

void PartState::take_back(LaneName name, const OperationPtr& operation) {
  OperationLane& lane = lanes_[name];
  if (lane.current != operation) return;
  lane.current = nullptr;
  if (!operation->pushes()) return;
  STRETTO_CHECK(rounds_ > 0);
  --rounds_;
  awaiting_done_ = false;
  sent = {};
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
