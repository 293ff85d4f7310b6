// SPDX-License-Identifier: Apache-2.0
// Backlog: all frames that wait to leave, by link, and those of one tag wherever they wait, so that
// who changes its mind about an operation can steer what has not left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "van/queue/link_map.h"
#include "van/queue/link_queue.h"

namespace stretto {

/// Thread: loop. Pure: it holds frames.
class Backlog {
 public:
  Backlog() = default;
  Backlog(const Backlog&) = delete;  // Its links know where the spare lane is.
  Backlog& operator=(const Backlog&) = delete;

  void set_nesting(const PreemptionRule& nesting) { nesting_ = nesting; }
  void add(LinkId link);
  /// Drops the link and all that waits for it.
  void remove(LinkId link);
  /// Null if it is not there.
  LinkQueue* find(LinkId link) { return links_.find(link); }

  /// Links that are not there lose what is pushed for them.
  void push(LinkId link, Frame&& frame);
  void push_control(LinkId link, Frame&& frame);
  void pop_control(LinkId link);
  void taken(LinkId link, Frame& frame, const Slice& slice);
  /// A frame of this urgency must begin where as many have begun as may: see LinkQueue.
  Frame& make_room(LinkId link, const Urgency& urgency);

  // Steering. What has been submitted is out of reach. Each costs what the frames of that tag
  // cost, however many others wait. Tag 0 is nobody's.

  /// Drops those of one tag; returns the keys of those of which nothing had left.
  std::vector<wire::Key> cancel(std::uint64_t tag);
  /// Lets those of one tag wait as others would, in the order in which they were queued.
  void set_urgency(std::uint64_t tag, const Urgency& urgency);
  /// Holds those of one tag back until resume(). They may go on from the middle of a frame.
  void pause(std::uint64_t tag);
  void resume(std::uint64_t tag);
  /// How many of one tag wait of which nothing has left.
  std::size_t untouched(std::uint64_t tag) const;

  std::size_t waiting() const { return controls_ + frames_.size(); }
  /// Frames that wait for one link.
  std::size_t waiting(LinkId link) const;
  /// Data frames that wait, by priority; the most urgent 32 of them.
  std::map<std::int32_t, std::size_t> waiting_by_priority() const;
  /// True if a data frame waits for this link and is not paused.
  bool has_data(LinkId link) const;
  /// Of the data frames that wait for it and are not paused, the most urgent's; none: there are
  /// none.
  std::optional<Urgency> most_urgent(LinkId link) const;
  /// True if something may go since note_looked() that could not before: it was queued, or resumed,
  /// or the end of what was cancelled waits.
  bool stirred() const { return stirred_; }
  void note_looked() { stirred_ = false; }
  /// Frames that steering has looked at so far.
  std::uint64_t steered() const { return frames_.visits(); }

  /// Calls `visit(link, queue)` once for each link for which other frames wait than when it was
  /// last called for it.
  template <typename Visit>
  void drain_changed(const Visit& visit);

 private:
  void touch(LinkId id, LinkQueue& queue);
  template <typename Change>
  void steer(std::uint64_t tag, const Change& change);

  FrameIndex frames_;  // Those of data.
  PriorityQueue::Spare spare_;
  PreemptionRule nesting_;
  LinkMap<LinkQueue> links_;
  std::size_t controls_ = 0;  // Frames.
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
