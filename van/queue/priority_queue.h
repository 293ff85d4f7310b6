// SPDX-License-Identifier: Apache-2.0
// PriorityQueue: what waits for one link, a Lane for each urgency. It knows which is the most
// urgent and which has waited longest without looking at the others.
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
  /// A lane of some Lanes. It has frames.
  using Iterator = Map::iterator;
  static FrameList& frames(Iterator lane) { return lane->second.frames; }
  /// A lane that was emptied, for the next that is wanted. Many Lanes share one.
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
  /// Order of the frame that has waited longest among the first of their lanes.
  std::uint64_t longest_order() const { return ages_.begin()->order; }
  /// Of those that are `wanted`, the lane whose first frame has waited longest; end() if none is.
  template <typename Wanted>
  Iterator longest(const Wanted& wanted);

  /// Moves a frame from where it is to the end, or the beginning, of the lane of its urgency.
  void push_back(FrameList& from, FrameList::iterator frame);
  void push_front(FrameList& from, FrameList::iterator frame);
  /// Moves a frame that is here to the end of `to`.
  void take(FrameList::iterator frame, FrameList& to) {
    take(lanes_.find(frame->urgency()), frame, to);
  }
  /// The same, where its lane is known.
  void take(Iterator lane, FrameList::iterator frame, FrameList& to);
  /// Puts a frame of the lane before the others.
  void bring_forward(Iterator lane, FrameList::iterator frame);
  /// All that are `wanted`, the most urgent first.
  template <typename Wanted>
  std::vector<FrameList::iterator> find_all(const Wanted& wanted);
  /// Calls `look(urgency, lane)` for each, the most urgent first.
  template <typename Look>
  void for_each(const Look& look) const {
    for (const auto& [urgency, entry] : lanes_) look(urgency, entry.frames);
  }

 private:
  Iterator lane_of(const Urgency& urgency, std::uint64_t order);
  void end_lane(Iterator lane);
  void front_changed(Iterator lane);

  Map lanes_;  // None is empty.
  Ages ages_;  // One for each.
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
