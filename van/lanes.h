// SPDX-License-Identifier: Apache-2.0
// Lanes: what waits for one link, a Lane for each urgency. It knows which is the most urgent and
// which has waited longest without looking at the others.
#pragma once

#include <algorithm>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "van/lane.h"

namespace stretto {

/// Thread: loop.
class Lanes {
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
    Lane frames;
    Ages::iterator age;
  };
  using Map = std::map<Urgency, Entry>;

 public:
  /// A lane of some Lanes. It has frames.
  using Iterator = Map::iterator;
  static Lane& frames(Iterator lane) { return lane->second.frames; }
  /// A lane that was emptied, for the next that is wanted. Many Lanes share one.
  struct Spare {
    Map::node_type lane;
    Ages::node_type age;
  };

  explicit Lanes(Spare& spare) : spare_(&spare) {}

  bool empty() const { return lanes_.empty(); }
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

  void push_back(Frame frame);
  void push_front(const Urgency& urgency, Frame frame);
  void pop_front(Iterator lane);
  /// Puts a frame of the lane before the others.
  void bring_forward(Iterator lane, Lane::Iterator frame);
  /// Frames that `wanted` names, in their order.
  template <typename Wanted>
  std::vector<Frame> take_out(const Wanted& wanted);
  /// Calls `look(urgency, lane)` for each, the most urgent first.
  template <typename Look>
  void for_each(const Look& look) const {
    for (const auto& [urgency, entry] : lanes_) look(urgency, entry.frames);
  }

 private:
  Iterator lane_of(const Urgency& urgency, std::uint64_t order);
  Iterator end_lane(Iterator lane);
  void front_changed(Iterator lane);

  Map lanes_;  // None is empty.
  Ages ages_;  // One for each.
  Spare* spare_;
};

template <typename Wanted>
Lanes::Iterator Lanes::longest(const Wanted& wanted) {
  for (const Age& age : ages_) {
    const Iterator lane = lanes_.find(age.urgency);
    if (wanted(frames(lane).front())) return lane;
  }
  return lanes_.end();
}

template <typename Wanted>
std::vector<Frame> Lanes::take_out(const Wanted& wanted) {
  std::vector<Frame> taken;
  for (Iterator lane = lanes_.begin(); lane != lanes_.end();) {
    Lane& waiting = frames(lane);
    const auto kept = std::stable_partition(
        waiting.begin(), waiting.end(), [&wanted](const Frame& frame) { return !wanted(frame); });
    std::move(kept, waiting.end(), std::back_inserter(taken));
    waiting.erase(kept, waiting.end());
    if (waiting.empty()) {
      lane = end_lane(lane);
    } else {
      front_changed(lane++);
    }
  }
  return taken;
}

}  // namespace stretto
