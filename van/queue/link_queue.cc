// SPDX-License-Identifier: Apache-2.0
// Steering, preemption and abandoned frames.
#include "van/queue/link_queue.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {
namespace {

bool has_begun(const Frame& frame) { return frame.sent > 0; }

}  // namespace

void LinkQueue::push(Frame&& frame) {
  FrameList waiting = frames_.add(std::move(frame));
  lanes_.push_back(waiting, waiting.begin());
}

void LinkQueue::clear() {
  FrameList dropped;
  for (const FrameList::iterator frame : lanes_.find_all([](const Frame&) { return true; })) {
    lanes_.take(frame, dropped);
  }
  dropped.splice(dropped.end(), paused_);
  while (!dropped.empty()) frames_.drop(dropped, dropped.begin());
  control_.clear();
}

void LinkQueue::pop_control() {
  STRETTO_CHECK(!control_.empty());
  control_.pop_front();
}

// ---- steering

// The frame that tells the peer that a partial frame is abandoned.
FrameList LinkQueue::end_of(const Frame& frame) {
  Frame end = frame;
  end.payload = Buffer();
  end.tag = 0;
  end.paused = false;
  end.header.kind = wire::Kind::kMore;
  end.header.flags = wire::kAbandoned;
  return frames_.add(std::move(end));
}

// Removes a frame from its lane or from the paused frames.
void LinkQueue::take_out(FrameList::iterator frame, FrameList& to) {
  if (!frame->paused) return lanes_.take(frame, to);
  frame->paused = false;
  to.splice(to.end(), paused_, frame);
}

bool LinkQueue::cancel(FrameList::iterator frame) {
  FrameList dropped;
  take_out(frame, dropped);
  const bool untouched = !has_begun(*frame);
  if (!untouched) {
    FrameList end = end_of(*frame);
    lanes_.push_back(end, end.begin());
  }
  frames_.drop(dropped, frame);
  return untouched;
}

void LinkQueue::set_urgency(FrameList::iterator frame, const Urgency& urgency) {
  FrameList moving;
  if (!frame->paused) lanes_.take(frame, moving);
  frame->header.priority = urgency.priority;
  frame->deadline = urgency.deadline;
  if (!frame->paused) lanes_.push_back(moving, frame);
}

void LinkQueue::pause(FrameList::iterator frame) {
  if (frame->paused) return;
  lanes_.take(frame, paused_);
  frame->paused = true;
}

void LinkQueue::resume(FrameList::iterator frame) {
  if (!frame->paused) return;
  FrameList moving;
  take_out(frame, moving);
  lanes_.push_back(moving, frame);
}

// ---- sending

Frame& LinkQueue::turn(const Slicing& slicing) {
  Frame& urgent = PriorityQueue::frames(lanes_.begin()).front();
  if (!nested_ || urgent.sent > 0 || urgent.payload.size() <= slicing.quantum()) {
    return urgent;
  }
  const auto lane = lanes_.find(nested_->urgency);
  if (lane == lanes_.end()) return urgent;
  Frame& nested = PriorityQueue::frames(lane).front();
  return nested.order == nested_->order && nested.sent > 0 ? nested : urgent;
}

Frame* LinkQueue::longest(const Slicing& slicing) {
  const bool gives_way = begun_ < wire::kMaxBegun || std::ranges::any_of(paused_, has_begun);
  const auto lane =
      lanes_.longest([&](const Frame& frame) { return gives_way || !must_begin(frame, slicing); });
  return lane == lanes_.end() ? nullptr : &PriorityQueue::frames(lane).front();
}

Frame& LinkQueue::make_room(const Urgency& urgency) {
  const auto ends = [](const Frame& f) { return (f.header.flags & wire::kAbandoned) != 0; };
  FrameList first;
  for (const FrameList::iterator end : lanes_.find_all(ends)) lanes_.take(end, first);
  if (first.empty()) give_up_one(urgency, first);
  while (!first.empty()) {
    first.front().header.priority = urgency.priority;
    first.front().deadline = urgency.deadline;
    lanes_.push_front(first, first.begin());
  }
  return PriorityQueue::frames(lanes_.find(urgency)).front();
}

// Puts the end of the abandoned frame into `ends`; none if an equal partial frame goes first.
void LinkQueue::give_up_one(const Urgency& urgency, FrameList& ends) {
  auto victim = std::find_if(paused_.begin(), paused_.end(), has_begun);
  bool found = victim != paused_.end();
  for (auto lane = lanes_.end(); !found && lane != lanes_.begin();) {
    --lane;
    FrameList& frames = PriorityQueue::frames(lane);
    victim = std::find_if(frames.begin(), frames.end(), has_begun);
    found = victim != frames.end();
    if (found && lane->first == urgency) return lanes_.bring_forward(lane, victim);
  }
  if (!found) return;
  ends = end_of(*victim);
  victim->sent = 0;
}

// An aged frame may be interrupted; a paused frame interrupts no other.
void LinkQueue::note_begun(const Frame& frame, const PreemptionRule& nesting) {
  ++begun_;
  if (begun_ < nesting.frames || frame.payload.size() > nesting.bytes) return;
  const auto held = static_cast<std::size_t>(std::ranges::count_if(paused_, has_begun));
  const Urgency urgency = frame.urgency();
  if (begun_ - held < nesting.frames || lanes_.most_urgent() < urgency) return;
  nested_ = Nested{urgency, frame.order};
}

void LinkQueue::taken(Frame& frame, const Slice& slice, const PreemptionRule& nesting) {
  STRETTO_CHECK(!frame.paused && frame.sent == slice.offset);
  const bool begun = frame.sent > 0;
  if (!slice.last) {
    if (!begun) note_begun(frame, nesting);
    frame.sent += slice.bytes;
    return;
  }
  if (begun) {
    STRETTO_CHECK(begun_ > 0);
    --begun_;
  }
  if (nested_ && nested_->order == frame.order) nested_.reset();
  const auto lane = lanes_.find(frame.urgency());
  STRETTO_CHECK(lane != lanes_.end() && &PriorityQueue::frames(lane).front() == &frame);
  FrameList gone;
  lanes_.take(lane, PriorityQueue::frames(lane).begin(), gone);
  frames_.drop(gone, gone.begin());
}

}  // namespace stretto
