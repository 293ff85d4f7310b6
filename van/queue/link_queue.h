// SPDX-License-Identifier: Apache-2.0
// LinkQueue: the frames that wait for one link: control frames in their order; data frames in lanes
// by urgency, or paused. Frames that have begun may be interrupted, and be given up for others, as
// long as the far end can hold the beginnings.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "van/queue/frame_index.h"
#include "van/queue/priority_queue.h"
#include "van/queue/slicing.h"

namespace stretto {

/// Where `frames` have begun, the last of them goes on until it ends, unless it is larger than
/// `bytes`: only frames of one slice overtake it. Else, while ever more urgent frames come, as in
/// a backward pass, all would be interrupted and none would end, and no answers be in flight.
struct PreemptionRule {
  std::size_t frames = std::numeric_limits<std::size_t>::max();
  std::uint64_t bytes = 0;
};

/// Thread: loop.
class LinkQueue {
 public:
  /// Both outlive it.
  LinkQueue(FrameIndex& frames, PriorityQueue::Spare& spare) : frames_(frames), lanes_(spare) {}

  void push(Frame&& frame);
  void push_control(Frame&& frame) { control_.push_back(std::move(frame)); }
  /// Drops all that waits.
  void clear();

  // For a data frame that waits here.

  /// True if nothing of it had left. Else its end waits in its place: the far end holds the
  /// beginning, so it must be told.
  bool cancel(FrameList::iterator frame);
  void set_urgency(FrameList::iterator frame, const Urgency& urgency);
  void pause(FrameList::iterator frame);
  void resume(FrameList::iterator frame);

  bool has_control() const { return !control_.empty(); }
  Frame& first_control() { return control_.front(); }
  void pop_control();

  /// True if a data frame waits that is not paused. The rest is for such a queue.
  bool has_data() const { return !lanes_.empty(); }
  const PriorityQueue& lanes() const { return lanes_; }
  /// The frame that goes on: the most urgent one, but for what must not be interrupted now.
  Frame& turn(const Slicing& slicing);
  /// Of what may go, that which has waited longest; null if nothing may. Where nothing may begin
  /// and nothing paused would give its place up, others have their turn.
  Frame* longest(const Slicing& slicing);
  bool must_begin(const Frame& frame, const Slicing& slicing) const {
    return slicing.must_begin(frame, begun_);
  }
  Slice slice_of(const Frame& frame, const Slicing& slicing) const {
    return slicing.slice_of(frame, begun_);
  }
  /// A frame of this urgency must begin, and there are beginnings enough: one that is paused or
  /// less urgent is given up, to start over in its turn; among equals one that has begun goes
  /// first. What is to go now.
  Frame& make_room(const Urgency& urgency);
  /// The slice of it has left, and the frame with its last.
  void taken(Frame& frame, const Slice& slice, const PreemptionRule& nesting);

  std::size_t waiting() const { return control_.size() + lanes_.size() + paused_.size(); }
  std::size_t controls() const { return control_.size(); }

  bool changed = false;  ///< For Backlog::drain_changed().

 private:
  struct Nested {
    Urgency urgency;
    std::uint64_t order;
  };

  FrameList end_of(const Frame& frame);
  void take_out(FrameList::iterator frame, FrameList& to);
  void give_up_one(const Urgency& urgency, FrameList& ends);
  void note_begun(const Frame& frame, const PreemptionRule& nesting);

  FrameIndex& frames_;
  std::deque<Frame> control_;
  PriorityQueue lanes_;
  FrameList paused_;
  std::size_t begun_ = 0;         // Frames of which the far end holds the beginning.
  std::optional<Nested> nested_;  // It goes on until it ends, while it is the first of its lane.
};

}  // namespace stretto
