// SPDX-License-Identifier: Apache-2.0
// A change of a lane's first frame changes the lane's age.
#include "van/queue/priority_queue.h"

#include "common/check.h"

namespace stretto {

PriorityQueue::Iterator PriorityQueue::lane_of(const Urgency& urgency, std::uint64_t order) {
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

void PriorityQueue::end_lane(Iterator lane) {
  spare_->age = ages_.extract(lane->second.age);
  spare_->lane = lanes_.extract(lane);
  STRETTO_CHECK(ages_.size() == lanes_.size());
}

void PriorityQueue::front_changed(Iterator lane) {
  const std::uint64_t order = frames(lane).front().order;
  if (lane->second.age->order == order) return;
  auto node = ages_.extract(lane->second.age);
  node.value().order = order;
  lane->second.age = ages_.insert(std::move(node)).position;
}

void PriorityQueue::push_back(FrameList& from, FrameList::iterator frame) {
  FrameList& lane = frames(lane_of(frame->urgency(), frame->order));
  lane.splice(lane.end(), from, frame);
  ++size_;
}

void PriorityQueue::push_front(FrameList& from, FrameList::iterator frame) {
  const Iterator lane = lane_of(frame->urgency(), frame->order);
  frames(lane).splice(frames(lane).begin(), from, frame);
  ++size_;
  front_changed(lane);
}

void PriorityQueue::take(Iterator lane, FrameList::iterator frame, FrameList& to) {
  STRETTO_CHECK(lane != lanes_.end() && size_ > 0);
  to.splice(to.end(), frames(lane), frame);
  --size_;
  if (frames(lane).empty()) {
    end_lane(lane);
  } else {
    front_changed(lane);
  }
}

void PriorityQueue::bring_forward(Iterator lane, FrameList::iterator frame) {
  frames(lane).splice(frames(lane).begin(), frames(lane), frame);
  front_changed(lane);
}

}  // namespace stretto
