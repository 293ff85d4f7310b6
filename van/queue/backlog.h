// SPDX-License-Identifier: Apache-2.0
// Backlog: all queued frames, by link, and those of a tag on all links. So a caller can steer the
// unsent frames of an operation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "van/queue/link_map.h"
#include "van/queue/link_queue.h"

namespace stretto {

/// Holds frames, sends nothing. Thread: loop. Pure.
class Backlog {
 public:
  Backlog() = default;
  Backlog(const Backlog&) = delete;  // Its links point to the spare lane.
  Backlog& operator=(const Backlog&) = delete;

  void set_nesting(const PreemptionRule& nesting) { nesting_ = nesting; }
  void add(LinkId link);
  /// Drops the link and all frames queued for it.
  void remove(LinkId link);
  /// Null if unknown.
  LinkQueue* find(LinkId link) { return links_.find(link); }

  /// Frames for an unknown link are dropped.
  void push(LinkId link, Frame&& frame);
  void push_control(LinkId link, Frame&& frame);
  void pop_control(LinkId link);
  void taken(LinkId link, Frame& frame, const Slice& slice);
  /// Makes room for a first slice at the limit of partial frames: see LinkQueue.
  Frame& make_room(LinkId link, const Urgency& urgency);

  // Steering of frames that have not been submitted. The cost depends only on the tag's frames. Tag
  // 0 belongs to no operation.

  /// Drops the frames of a tag; returns the keys of those that had not started.
  std::vector<wire::Key> cancel(std::uint64_t tag);
  /// Changes the urgency of a tag's frames; among equals they are in order of queueing.
  void set_urgency(std::uint64_t tag, const Urgency& urgency);
  /// Holds the frames of a tag back until resume(). They may continue within a frame.
  void pause(std::uint64_t tag);
  void resume(std::uint64_t tag);
  /// Number of a tag's frames that have not started.
  std::size_t untouched(std::uint64_t tag) const;

  std::size_t waiting() const { return controls_ + frames_.size(); }
  /// Frames queued for one link.
  std::size_t waiting(LinkId link) const;
  /// Queued data frames by priority, for the 32 highest priorities.
  std::map<std::int32_t, std::size_t> waiting_by_priority() const;
  /// True if the link has a data frame that is not paused.
  bool has_data(LinkId link) const;
  /// Urgency of the link's most urgent data frame that is not paused; none: no such frame.
  std::optional<Urgency> most_urgent(LinkId link) const;
  /// True if a frame has become sendable since note_looked(): it was queued or resumed, or the end
  /// of a cancelled frame is queued.
  bool stirred() const { return stirred_; }
  void note_looked() { stirred_ = false; }
  /// Number of frames that steering has visited.
  std::uint64_t steered() const { return frames_.visits(); }

  /// Calls `visit(link, queue)` once for each link whose queue has changed since its last visit.
  template <typename Visit>
  void drain_changed(const Visit& visit);

 private:
  void touch(LinkId id, LinkQueue& queue);
  template <typename Change>
  void steer(std::uint64_t tag, const Change& change);

  FrameIndex frames_;  // Data frames.
  PriorityQueue::Spare spare_;
  PreemptionRule nesting_;
  LinkMap<LinkQueue> links_;
  std::size_t controls_ = 0;  // Number of control frames.
  std::uint64_t orders_ = 0;
  std::vector<LinkId> changed_;
  bool stirred_ = false;
};

template <typename Visit>
void Backlog::drain_changed(const Visit& visit) {
  for (const LinkId id : changed_) {
    LinkQueue* queue = find(id);
    if (queue == nullptr || !std::exchange(queue->changed, false)) continue;
    visit(id, std::as_const(*queue));
  }
  changed_.clear();
}

}  // namespace stretto
