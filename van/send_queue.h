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
#include <map>
#include <optional>
#include <vector>

#include "van/transport.h"

namespace stretto {

/// What decides who goes first: priority, then the time at which the bytes are wanted.
struct Urgency {
  std::int32_t priority = 0;    ///< Higher goes first.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first; max: no matter.

  /// More urgent first.
  friend bool operator<(const Urgency& a, const Urgency& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.deadline < b.deadline;
  }
  friend bool operator==(const Urgency&, const Urgency&) = default;
};

struct Frame {
  wire::Header header;
  Buffer payload;
  Time deadline = Time::max();
  std::uint64_t tag = 0;  ///< Whose it is, for those who change their mind; 0: nobody's.

  // The queue's and the Van's:
  std::uint32_t sent = 0;            // Bytes of the payload that have been handed over.
  std::uint64_t first_sequence = 0;  // Of its first slice, once that has left.
  std::uint64_t order = 0;           // When it was queued.

  Urgency urgency() const { return {header.priority, deadline}; }
};

/// Thread: loop. Pure: it holds frames and counters, and sends nothing.
class SendQueue {
 public:
  /// Windows in bytes that links get when they are added, and of all links that were not shaped.
  SendQueue(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
      : link_window_bytes_(link_window_bytes) {
    for (Pool& pool : pools_) pool.window_bytes = total_window_bytes;
  }

  /// For links that have not been shaped, those there are and those to come.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);
  /// The link's own window and quantum, in bytes. Shaped links have a window of their own for all
  /// of them together.
  void shape(LinkId link, std::uint64_t window_bytes, std::uint64_t quantum_bytes);
  void set_shaped_window(std::uint64_t bytes) { pools_[kShaped].window_bytes = bytes; }

  void add_link(LinkId link);
  /// Drops the link and all that waits for it; what it had under way no longer counts.
  void remove_link(LinkId link);

  /// Waits for its turn. Data frames obey urgency and windows; control frames go before all data
  /// of their link, in order, whatever the windows say, and whole.
  void push(LinkId link, Frame frame);
  void push_control(LinkId link, Frame frame);

  // For data frames that still wait; what has been handed over is out of reach.

  /// Drops those of one tensor.
  void discard(std::uint32_t tensor);
  /// Drops those of one tag; returns the keys of those of which nothing had left.
  std::vector<wire::Key> cancel(std::uint64_t tag);
  /// How many of one tag wait of which nothing has left.
  std::size_t untouched(std::uint64_t tag) const;
  /// Lets those of one tag wait as others would.
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
    bool last;  ///< Nothing of the frame is left then.
    std::uint64_t charge() const { return wire::kHeaderBytes + bytes; }
  };
  /// The slice to hand over now: control first, then the most urgent data over all links that are
  /// writable and whose windows are open; equals by turns over the links, and in order within one.
  /// Now and then what has waited longest instead, so that nothing waits for ever. None if nothing
  /// may go.
  std::optional<Pick> next();
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
  /// Of the link that has most.
  std::uint64_t most_under_way() const;
  std::uint64_t sent(LinkId link) const;
  std::size_t waiting() const { return waiting_; }
  /// Frames that wait for one link.
  std::size_t waiting(LinkId link) const;
  /// True if the last next() found a link whose own window was open when that of all shaped links
  /// was not.
  bool held_back() const { return held_back_ && waiting_ > 0; }
  /// True if a data frame waits for this link and is not paused.
  bool has_work(LinkId link) const;

 private:
  enum PoolKind : std::uint8_t { kPlain, kShaped };
  struct Pool {
    std::uint64_t window_bytes = 0;
    std::uint64_t under_way = 0;
  };
  using Lane = std::deque<Frame>;
  using Lanes = std::map<Urgency, Lane>;  // None is empty.
  struct Link {
    std::deque<Frame> control;
    Lanes lanes;
    Lane paused;
    std::size_t waiting = 0;
    std::size_t begun = 0;  // Frames of which the far end holds the beginning.
    std::uint64_t window_bytes = 0;
    std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
    std::uint64_t sent_bytes = 0;
    std::uint64_t credited_bytes = 0;
    std::uint64_t departed_bytes = 0;
    PoolKind pool = kPlain;
    bool full = false;

    std::uint64_t under_way() const { return sent_bytes - credited_bytes; }
    std::uint64_t pooled() const { return sent_bytes - std::max(credited_bytes, departed_bytes); }
  };

  std::optional<Pick> next_control();
  std::optional<Pick> next_data();
  std::optional<Pick> longest_waiting();
  Pick pick_of(LinkId id, Link& link, Lane& lane) const;
  bool may_go(const Link& link);
  template <typename Doomed>
  std::vector<wire::Key> drop(const Doomed& doomed);
  template <typename Wanted>
  std::vector<Frame> take_out(Link& link, const Wanted& wanted);
  void put(Link& link, Frame frame);

  std::uint64_t link_window_bytes_;
  Pool pools_[2];
  std::size_t waiting_ = 0;
  std::size_t waiting_control_ = 0;
  std::size_t paused_ = 0;
  std::uint64_t orders_ = 0;
  std::uint64_t since_oldest_bytes_ = 0;  // Handed over since the longest waiting had its turn.
  bool held_back_ = false;
  LinkId last_served_ = 0;
  std::map<LinkId, Link> links_;
};

}  // namespace stretto
