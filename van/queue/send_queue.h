// SPDX-License-Identifier: Apache-2.0
// SendQueue: all queued frames, most urgent first. It alone chooses the next bytes for the
// transport, and how many may be submitted before the peer has taken them. That limit lets an
// urgent frame overtake a long transfer: submitted bytes cannot be recalled (TimedRPC;
// docs/ARCHITECTURE.md, "Preemption").
//
// Frames leave in slices of at most the link's quantum. Between two slices a frame may be
// overtaken, paused, made more or less urgent, or cancelled. The backlog knows queued frames, the
// windows limit bytes in flight, and the arbiter chooses the next link.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "van/queue/backlog.h"
#include "van/queue/link_arbiter.h"
#include "van/queue/send_windows.h"

namespace stretto {

/// Holds frames and counters, sends nothing. Thread: loop. Pure.
class SendQueue {
 public:
  /// Initial window of a link, and window of all links without shaping, in bytes.
  SendQueue(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
      : windows_(link_window_bytes, total_window_bytes) {}

  void add_link(LinkId link);
  /// Drops the link and all frames queued for it; its bytes in flight no longer count.
  void remove_link(LinkId link);

  /// Queues a frame. Data frames obey urgency and windows. Control frames precede all data of their
  /// link, in order and unsliced, and ignore windows.
  void push(LinkId link, Frame frame) {
    if (waiting() == 0) arbiter_.begin_turns(link);
    backlog_.push(link, std::move(frame));
  }
  void push_control(LinkId link, Frame frame) { backlog_.push_control(link, std::move(frame)); }

  // For queued data frames, by their tag: see Backlog.
  std::vector<wire::Key> cancel(std::uint64_t tag) { return backlog_.cancel(tag); }
  void set_urgency(std::uint64_t tag, const Urgency& urgency) {
    backlog_.set_urgency(tag, urgency);
  }
  void pause(std::uint64_t tag) { backlog_.pause(tag); }
  void resume(std::uint64_t tag) { backlog_.resume(tag); }

  struct Pick {
    LinkId link;
    bool control;
    Frame* frame;          ///< Valid until the next call.
    std::uint32_t offset;  ///< Offset of the slice in the payload.
    std::uint32_t bytes;
    bool last;          ///< The last slice of the frame.
    bool aged = false;  ///< Chosen as the oldest data.
    std::uint64_t charge() const { return wire::kHeaderBytes + bytes; }
  };
  /// The next slice to submit: control first, then the most urgent data of all writable links with
  /// open windows; round robin among links, in order within a link. Periodically the oldest data
  /// instead, so that none starves. None if no slice may leave.
  std::optional<Pick> next(Candidates among = Candidates::kAll);
  /// The transport took the picked slice.
  void taken(const Pick& pick);
  /// The transport returned kFull for this link: no picks until writable().
  void full(LinkId link) { windows_.set_full(link, true); }
  void writable(LinkId link) { windows_.set_full(link, false); }

  SendWindows& windows() { return windows_; }
  const SendWindows& windows() const { return windows_; }
  Backlog& backlog() { return backlog_; }
  const Backlog& backlog() const { return backlog_; }
  std::size_t waiting() const { return backlog_.waiting(); }
  std::size_t waiting(LinkId link) const { return backlog_.waiting(link); }
  /// No frame is queued, and no data is in flight.
  bool idle() const { return waiting() == 0 && windows_.in_flight() == 0; }
  /// True if the last next() found a link with room in its own window, but not in that of all
  /// shaped links.
  bool held_back() const { return arbiter_.held_back() && waiting() > 0; }

 private:
  std::optional<Pick> next_aged(Candidates among);
  std::optional<Pick> next_urgent(Candidates among);
  void offer_changed();
  void offer(LinkId id, const SendWindows::Link& link, const LinkQueue& queue);

  Backlog backlog_;
  SendWindows windows_;
  LinkArbiter arbiter_;
};

}  // namespace stretto
