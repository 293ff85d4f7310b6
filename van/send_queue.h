// SPDX-License-Identifier: Apache-2.0
// SendQueue: everything that waits to leave, most urgent first. It alone decides which frame is
// handed to the transport next, and how many bytes may be handed over before the far end has taken
// them. That bound is what lets an urgent frame overtake a long transfer: what has been handed over
// cannot be recalled (TimedRPC; docs/ARCHITECTURE.md, "Preemption").
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "van/transport.h"

namespace stretto {

struct Frame {
  wire::Header header;
  Buffer payload;
  /// Bytes that count against the windows.
  std::uint64_t charge() const { return wire::kHeaderBytes + payload.size(); }
};

/// Thread: loop. Pure: it holds frames and counters, and sends nothing.
class SendQueue {
 public:
  SendQueue(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
      : link_window_bytes_(link_window_bytes), total_window_bytes_(total_window_bytes) {}

  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);

  void add_link(LinkId link);
  /// Drops the link and all that waits for it; what it had under way no longer counts.
  void remove_link(LinkId link);

  /// Waits for its turn. Data frames obey priorities and windows; control frames go before all data
  /// of their link, in order, whatever the windows say.
  void push(LinkId link, Frame frame);
  void push_control(LinkId link, Frame frame);

  /// Drops the data frames of one tensor that still wait; those handed over are out of reach.
  void discard(std::uint32_t tensor);

  struct Pick {
    LinkId link;
    bool control;
    Frame* frame;  ///< Valid until the next call.
  };
  /// The frame to hand over now: control first, then the most urgent data frame over all links that
  /// are writable and whose windows are open; equals by turns over the links, and in order within
  /// one. None if nothing may go.
  std::optional<Pick> next();
  /// The picked frame was taken by the transport.
  void taken(const Pick& pick);
  /// The transport said kFull for this link; nothing more is picked for it until writable().
  void full(LinkId link);
  void writable(LinkId link);

  /// The far end says how many bytes it has taken in all. False if that is more than were sent:
  /// the far end is not to be believed.
  bool credited(LinkId link, std::uint64_t taken_bytes);

  std::uint64_t under_way(LinkId link) const;
  std::uint64_t under_way() const { return total_under_way_; }
  /// Of the link that has most.
  std::uint64_t most_under_way() const;
  std::size_t waiting() const { return waiting_; }
  /// Frames that wait for one link.
  std::size_t waiting(LinkId link) const;

 private:
  using Lane = std::deque<Frame>;
  struct Link {
    std::deque<Frame> control;
    std::map<std::int32_t, Lane, std::greater<>> lanes;  // Priority, highest first; none is empty.
    std::size_t waiting = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t credited_bytes = 0;
    bool full = false;
  };

  std::optional<Pick> next_control();
  std::optional<Pick> next_data();
  bool window_open(const Link& link) const;

  std::uint64_t link_window_bytes_;
  std::uint64_t total_window_bytes_;
  std::uint64_t total_under_way_ = 0;
  std::size_t waiting_ = 0;
  std::size_t waiting_control_ = 0;
  LinkId last_served_ = 0;
  std::map<LinkId, Link> links_;
};

}  // namespace stretto
