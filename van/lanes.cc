// SPDX-License-Identifier: Apache-2.0
// Each change of a lane's first frame changes its age.
#include "van/lanes.h"

namespace stretto {

Lanes::Iterator Lanes::lane_of(const Urgency& urgency, std::uint64_t order) {
  Iterator lane = lanes_.find(urgency);
  if (lane != lanes_.end()) return lane;
  if (spare_->lane.empty()) {
    lane = lanes_.try_emplace(urgency).first;
    lane->second.age = ages_.insert({order, urgency}).first;
    return lane;
  }
  spare_->lane.key() = urgency;
  lane = lanes_.insert(std::move(spare_->lane)).position;
  spare_->age.value() = {order, urgency};
  lane->second.age = ages_.insert(std::move(spare_->age)).position;
  return lane;
}

Lanes::Iterator Lanes::end_lane(Iterator lane) {
  const Iterator next = std::next(lane);
  spare_->age = ages_.extract(lane->second.age);
  spare_->lane = lanes_.extract(lane);
  spare_->lane.mapped().frames.clear();
  return next;
}

void Lanes::front_changed(Iterator lane) {
  const std::uint64_t order = frames(lane).front().order;
  if (lane->second.age->order == order) return;
  auto node = ages_.extract(lane->second.age);
  node.value().order = order;
  lane->second.age = ages_.insert(std::move(node)).position;
}

void Lanes::push_back(Frame frame) {
  const Iterator lane = lane_of(frame.urgency(), frame.order);
  frames(lane).push_back(std::move(frame));
}

void Lanes::push_front(const Urgency& urgency, Frame frame) {
  const Iterator lane = lane_of(urgency, frame.order);
  frames(lane).push_front(std::move(frame));
  front_changed(lane);
}

void Lanes::pop_front(Iterator lane) {
  frames(lane).pop_front();
  if (frames(lane).empty()) {
    end_lane(lane);
  } else {
    front_changed(lane);
  }
}

void Lanes::bring_forward(Iterator lane, Lane::Iterator frame) {
  std::rotate(frames(lane).begin(), frame, std::next(frame));
  front_changed(lane);
}

}  // namespace stretto
