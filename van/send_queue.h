// SPDX-License-Identifier: Apache-2.0
// SendQueue: everything that waits to leave, most urgent first. It alone decides which bytes are
// handed to the transport next, and how many may be handed over before the far end has taken them.
// That bound is what lets an urgent frame overtake a long transfer: what has been handed over
// cannot be recalled (TimedRPC; docs/ARCHITECTURE.md, "Preemption").
//
// Frames leave in slices of at most the link's quantum. Between two slices a frame may be
// overtaken, paused, made more or less urgent, or cancelled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "van/lanes.h"
#include "van/ready_links.h"
#include "van/waiting_frames.h"

namespace stretto {

/// Thread: loop. Pure: it holds frames and counters, and sends nothing.
class SendQueue {
 public:
  /// Windows in bytes that links get when they are added, and of all links that were not shaped.
  SendQueue(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
      : link_window_bytes_(link_window_bytes) {
    for (Pool& pool : pools_) pool.window_bytes = pool.bulk_window_bytes = total_window_bytes;
  }
  SendQueue(const SendQueue&) = delete;  // Its links know where the spare lane is.
  SendQueue& operator=(const SendQueue&) = delete;

  /// For links that have not been shaped, those there are and those to come.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);
  /// How much may be under way, and in slices of what size, in bytes.
  struct Bounds {
    std::uint64_t window_bytes = 0;
    std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
  };
  /// The link's own; `bulk` holds for bulk frames, and its window for the others too while some of
  /// those are under way, since nothing is gained by waiting for them here. Shaped links have a
  /// window of their own for all of them together.
  void shape(LinkId link, const Bounds& ordinary, const Bounds& bulk);
  void set_shaped_window(std::uint64_t bytes, std::uint64_t bulk_bytes);
  /// No slice is larger, on any link. Without it a frame may leave whole.
  void set_largest_slice(std::uint64_t bytes);

  /// Where `frames` have begun, the last of them goes on until it ends, unless it is larger than
  /// `bytes`: only frames of one slice overtake it. Else, while ever more urgent frames come, as in
  /// a backward pass, all would be interrupted and none would end, and no answers be under way.
  void set_nesting(std::size_t frames, std::uint64_t bytes);

  void add_link(LinkId link);
  /// Drops the link and all that waits for it; what it had under way no longer counts.
  void remove_link(LinkId link);

  /// Waits for its turn. Data frames obey urgency and windows; control frames go before all data
  /// of their link, in order, whatever the windows say, and whole.
  void push(LinkId link, Frame frame);
  void push_control(LinkId link, Frame frame);

  // For data frames that still wait; what has been handed over is out of reach. Each costs what the
  // frames of that tag cost, however many others wait. Tag 0 is nobody's.

  /// Drops those of one tag; returns the keys of those of which nothing had left.
  std::vector<wire::Key> cancel(std::uint64_t tag);
  /// How many of one tag wait of which nothing has left.
  std::size_t untouched(std::uint64_t tag) const;
  /// Lets those of one tag wait as others would, in the order in which they were queued.
  void set_urgency(std::uint64_t tag, const Urgency& urgency);
  /// Holds those of one tag back until resume(). They may go on from the middle of a frame.
  void pause(std::uint64_t tag);
  void resume(std::uint64_t tag);

  struct Pick {
    LinkId link;
    bool control;
    Frame* frame;          ///< Valid until the next call.
    std::uint32_t offset;  ///< The slice of its payload that is to go.
    std::uint32_t bytes;
    bool last;          ///< Nothing of the frame is left then.
    bool aged = false;  ///< It goes for having waited longest.
    std::uint64_t charge() const { return wire::kHeaderBytes + bytes; }
  };
  /// The slice to hand over now: control first, then the most urgent data over all links that are
  /// writable and whose windows are open; equals by turns over the links, and in order within one.
  /// Now and then what has waited longest instead, so that nothing waits for ever. None if nothing
  /// may go.
  std::optional<Pick> next();
  /// The same, but for data on shaped links.
  std::optional<Pick> next_unshaped();
  /// The picked slice was taken by the transport.
  void taken(const Pick& pick);
  /// The transport said kFull for this link; nothing more is picked for it until writable().
  void full(LinkId link);
  void writable(LinkId link);

  /// The far end says how many bytes it has taken in all. False if that is more than were sent:
  /// the far end is not to be believed.
  bool credited(LinkId link, std::uint64_t taken_bytes);
  /// Of what the link was given, the first `sent_bytes` have left this host, credited or not: they
  /// no longer count against the window of all shaped links.
  void departed(LinkId link, std::uint64_t sent_bytes);

  std::uint64_t under_way(LinkId link) const;
  std::uint64_t under_way() const;
  /// On all shaped links together, but for what has departed.
  std::uint64_t shaped_under_way() const { return pools_[kShaped].under_way; }
  /// Of the link that has most.
  std::uint64_t most_under_way() const;
  std::uint64_t sent(LinkId link) const;
  std::size_t waiting() const { return waiting_; }
  /// Frames that wait for one link.
  std::size_t waiting(LinkId link) const;
  /// Data frames that wait, by priority; the most urgent 32 of them.
  std::map<std::int32_t, std::size_t> waiting_by_priority() const;
  /// True if the last next() found a link whose own window was open when that of all shaped links
  /// was not.
  bool held_back() const { return held_back_ && waiting_ > 0; }
  /// True if a data frame waits for this link and is not paused.
  bool has_work(LinkId link) const;
  /// Frames that steering has looked at so far.
  std::uint64_t steered() const { return frames_.visits(); }

 private:
  enum PoolKind : std::uint8_t { kPlain, kShaped };
  struct Pool {
    std::uint64_t window_bytes = 0;
    std::uint64_t bulk_window_bytes = 0;
    std::uint64_t under_way = 0;
    std::size_t bulk_links = 0;  // Those that have bulk under way.
    ReadyLinks ready;
  };
  struct Link {
    explicit Link(Lanes::Spare& spare) : lanes(spare) {}

    std::deque<Frame> control;
    Lanes lanes;
    Lane paused;
    std::size_t waiting = 0;
    std::size_t begun = 0;  // Frames of which the far end holds the beginning.
    struct Nested {
      Urgency urgency;
      std::uint64_t order;
    };
    std::optional<Nested> nested;  // It goes on until it ends, while it is the first of its lane.
    Bounds ordinary;
    Bounds bulk;
    std::uint64_t sent_bytes = 0;
    std::uint64_t bulk_end_bytes = 0;  // Sent when the last bulk had gone, itself included.
    std::uint64_t credited_bytes = 0;
    std::uint64_t departed_bytes = 0;
    PoolKind pool = kPlain;
    bool full = false;
    bool pools_bulk = false;  // Counted in Pool::bulk_links.

    std::uint64_t under_way() const { return sent_bytes - credited_bytes; }
    std::uint64_t gone_bytes() const { return std::max(credited_bytes, departed_bytes); }
    std::uint64_t pooled() const { return sent_bytes - gone_bytes(); }
  };

  std::optional<Pick> next_control();
  std::optional<Pick> next_data();
  std::optional<Pick> longest_waiting();
  Pick pick_of(LinkId id, const Link& link, Frame& frame) const;
  std::uint64_t quantum_of(const Link& link, const Frame& frame) const;
  bool must_begin(const Link& link, const Frame& frame) const;
  void make_room(Link& link, const Urgency& urgency);
  std::uint64_t room_of(const Link& link, const Frame& frame) const;
  void refresh(LinkId id, Link& link);
  void refresh_all();
  bool fits(const Pool& pool, const ReadyLinks::Offer& offer) const;
  bool is_before(LinkId id, LinkId other) const;
  std::span<Pool> open_pools();
  Lanes::Iterator longest_of(Link& link);
  void note_pooled(Link& link, std::uint64_t before);
  void leave_pool(Link& link);
  Lanes::Iterator turn_of(Link& link) const;
  void note_begun(Link& link, const Frame& frame);
  Lane end_of(const Frame& frame);
  void take_out(Link& link, Lane::iterator frame, Lane& to);
  template <typename Change>
  void steer(std::uint64_t tag, const Change& change);
  void control_changed(LinkId id, const Link& link);

  std::uint64_t link_window_bytes_;
  std::uint64_t largest_slice_bytes_ = wire::kMaxPayloadBytes;
  std::size_t most_nested_ = std::numeric_limits<std::size_t>::max();
  std::uint64_t largest_nested_bytes_ = 0;
  Pool pools_[2];
  std::size_t waiting_ = 0;
  std::size_t waiting_control_ = 0;
  std::size_t paused_ = 0;
  std::uint64_t orders_ = 0;
  std::uint64_t since_oldest_bytes_ = 0;  // Handed over since the longest waiting had its turn.
  bool held_back_ = false;
  bool shaped_shut_ = false;
  LinkId last_served_ = 0;
  WaitingFrames frames_;
  Lanes::Spare spare_;
  std::map<LinkId, Link> links_;
  std::set<LinkId> control_ready_;  // Links that have control frames and are not full.
};

}  // namespace stretto
