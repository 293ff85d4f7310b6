// SPDX-License-Identifier: Apache-2.0
// LinkQueue: the frames queued for one link: control frames in order; data frames in lanes by
// urgency, or paused. Partial frames may be interrupted, or abandoned for others, within the number
// of partial frames that the peer can hold.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "van/queue/frame_index.h"
#include "van/queue/priority_queue.h"
#include "van/queue/slicing.h"

namespace stretto {

/// With `frames` partial frames, the last one runs to its end, unless it is larger than `bytes`:
/// only frames of one slice overtake it. Otherwise, with ever more urgent frames, as in a backward
/// pass, all would be interrupted, none would end, and no answers would be in flight.
struct PreemptionRule {
  std::size_t frames = std::numeric_limits<std::size_t>::max();
  std::uint64_t bytes = 0;
};

/// Thread: loop.
class LinkQueue {
 public:
  /// Both must outlive it.
  LinkQueue(FrameIndex& frames, PriorityQueue::Spare& spare) : frames_(frames), lanes_(spare) {}

  void push(Frame&& frame);
  void push_control(Frame&& frame) { control_.push_back(std::move(frame)); }
  /// Drops all queued frames.
  void clear();

  // For a queued data frame:

  /// True if the frame had not started. Otherwise its end is queued instead, because the peer holds
  /// a partial frame and must be told.
  bool cancel(FrameList::iterator frame);
  void set_urgency(FrameList::iterator frame, const Urgency& urgency);
  void pause(FrameList::iterator frame);
  void resume(FrameList::iterator frame);

  bool has_control() const { return !control_.empty(); }
  Frame& first_control() { return control_.front(); }
  void pop_control();

  /// True if a data frame is queued and not paused: a precondition of the rest.
  bool has_data() const { return !lanes_.empty(); }
  const PriorityQueue& lanes() const { return lanes_; }
  /// The next frame: the most urgent one, unless a partial frame must not be interrupted.
  Frame& turn(const Slicing& slicing);
  /// The oldest sendable frame; null if there is none: no frame may start, and no paused partial
  /// frame can be abandoned.
  Frame* longest(const Slicing& slicing);
  bool must_begin(const Frame& frame, const Slicing& slicing) const {
    return slicing.must_begin(frame, begun_);
  }
  Slice slice_of(const Frame& frame, const Slicing& slicing) const {
    return slicing.slice_of(frame, begun_);
  }
  /// A frame of this urgency must start at the limit of partial frames. Abandons a paused or less
  /// urgent one, which restarts later; a partial frame of equal urgency goes first. Returns the
  /// frame to send now.
  Frame& make_room(const Urgency& urgency);
  /// The slice has left; the last slice removes the frame.
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
  std::size_t begun_ = 0;         // Partial frames that the peer holds.
  std::optional<Nested> nested_;  // Runs to its end, while it is first of its lane.
};

}  // namespace stretto
