// SPDX-License-Identifier: Apache-2.0
// PriorityQueue: the frames of one link, with a lane for each urgency. It finds the most urgent and
// the oldest lane without a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "van/queue/frame_list.h"

namespace stretto {

/// Thread: loop.
class PriorityQueue {
 private:
  struct Age {
    std::uint64_t order = 0;  // Of the lane's first frame.
    Urgency urgency;

    friend bool operator<(const Age& a, const Age& b) {
      return a.order != b.order ? a.order < b.order : a.urgency < b.urgency;
    }
  };
  using Ages = std::set<Age>;
  struct Entry {
    FrameList frames;
    Ages::iterator age;
  };
  using Map = std::map<Urgency, Entry>;

 public:
  /// A lane, never empty.
  using Iterator = Map::iterator;
  static FrameList& frames(Iterator lane) { return lane->second.frames; }
  /// A recycled empty lane, shared by many queues.
  struct Spare {
    Map::node_type lane;
    Ages::node_type age;
  };

  explicit PriorityQueue(Spare& spare) : spare_(&spare) {}

  bool empty() const { return lanes_.empty(); }
  /// Frames in all lanes.
  std::size_t size() const { return size_; }
  const Urgency& most_urgent() const { return lanes_.begin()->first; }
  Iterator begin() { return lanes_.begin(); }
  Iterator end() { return lanes_.end(); }
  Iterator find(const Urgency& urgency) { return lanes_.find(urgency); }
  const Frame& first() const { return lanes_.begin()->second.frames.front(); }
  /// Order of the oldest frame among the first of their lanes.
  std::uint64_t longest_order() const { return ages_.begin()->order; }
  /// Among `wanted` lanes the one with the oldest first frame; end() if none.
  template <typename Wanted>
  Iterator longest(const Wanted& wanted);

  /// Moves a frame to the end, or the begin, of the lane of its urgency.
  void push_back(FrameList& from, FrameList::iterator frame);
  void push_front(FrameList& from, FrameList::iterator frame);
  /// Moves a frame of this queue to the end of `to`.
  void take(FrameList::iterator frame, FrameList& to) {
    take(lanes_.find(frame->urgency()), frame, to);
  }
  /// As above, if the lane is known.
  void take(Iterator lane, FrameList::iterator frame, FrameList& to);
  /// Moves a frame to the begin of its lane.
  void bring_forward(Iterator lane, FrameList::iterator frame);
  /// All `wanted` frames, the most urgent first.
  template <typename Wanted>
  std::vector<FrameList::iterator> find_all(const Wanted& wanted);
  /// Calls `look(urgency, lane)` for each lane, the most urgent first.
  template <typename Look>
  void for_each(const Look& look) const {
    for (const auto& [urgency, entry] : lanes_) look(urgency, entry.frames);
  }

 private:
  Iterator lane_of(const Urgency& urgency, std::uint64_t order);
  void end_lane(Iterator lane);
  void front_changed(Iterator lane);

  Map lanes_;  // No lane is empty.
  Ages ages_;  // One for each lane.
  std::size_t size_ = 0;
  Spare* spare_;
};

template <typename Wanted>
PriorityQueue::Iterator PriorityQueue::longest(const Wanted& wanted) {
  for (const Age& age : ages_) {
    const Iterator lane = lanes_.find(age.urgency);
    if (wanted(frames(lane).front())) return lane;
  }
  return lanes_.end();
}

template <typename Wanted>
std::vector<FrameList::iterator> PriorityQueue::find_all(const Wanted& wanted) {
  std::vector<FrameList::iterator> found;
  for (auto& [urgency, entry] : lanes_) {
    for (auto frame = entry.frames.begin(); frame != entry.frames.end(); ++frame) {
      if (wanted(*frame)) found.push_back(frame);
    }
  }
  return found;
}

}  // namespace stretto
