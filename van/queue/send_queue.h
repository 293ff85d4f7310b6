// SPDX-License-Identifier: Apache-2.0
// SendQueue: everything that waits to leave, most urgent first. It alone decides which bytes are
// handed to the transport next, and how many may be submitted before the far end has taken them.
// That bound is what lets an urgent frame overtake a long transfer: what has been submitted
// cannot be recalled (TimedRPC; docs/ARCHITECTURE.md, "Preemption").
//
// Frames leave in slices of at most the link's quantum. Between two slices a frame may be
// overtaken, paused, made more or less urgent, or cancelled. What waits is the backlog's to know,
// how much may be in flight the windows', and whose turn it is the arbiter's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "van/queue/backlog.h"
#include "van/queue/link_arbiter.h"
#include "van/queue/send_windows.h"

namespace stretto {

/// Thread: loop. Pure: it holds frames and counters, and sends nothing.
class SendQueue {
 public:
  /// Windows in bytes that links get when they are added, and of all links that were not shaped.
  SendQueue(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes)
      : windows_(link_window_bytes, total_window_bytes) {}

  void add_link(LinkId link);
  /// Drops the link and all that waits for it; what it had in flight no longer counts.
  void remove_link(LinkId link);

  /// Waits for its turn. Data frames obey urgency and windows; control frames go before all data
  /// of their link, in order, whatever the windows say, and whole.
  void push(LinkId link, Frame frame) {
    if (waiting() == 0) arbiter_.begin_turns(link);
    backlog_.push(link, std::move(frame));
  }
  void push_control(LinkId link, Frame frame) { backlog_.push_control(link, std::move(frame)); }

  // For data frames that still wait, by their tag: see Backlog.
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
    std::uint32_t offset;  ///< The slice of its payload that is to go.
    std::uint32_t bytes;
    bool last;          ///< Nothing of the frame is left then.
    bool aged = false;  ///< It goes for having waited longest.
    std::uint64_t charge() const { return wire::kHeaderBytes + bytes; }
  };
  /// The slice to submit now: control first, then the most urgent data over all links that are
  /// writable and whose windows are open; equals by turns over the links, and in order within one.
  /// Now and then what has waited longest instead, so that nothing waits for ever. None if nothing
  /// may go.
  std::optional<Pick> next(Candidates among = Candidates::kAll);
  /// The picked slice was taken by the transport.
  void taken(const Pick& pick);
  /// The transport said kFull for this link; nothing more is picked for it until writable().
  void full(LinkId link) { windows_.set_full(link, true); }
  void writable(LinkId link) { windows_.set_full(link, false); }

  SendWindows& windows() { return windows_; }
  const SendWindows& windows() const { return windows_; }
  Backlog& backlog() { return backlog_; }
  const Backlog& backlog() const { return backlog_; }
  std::size_t waiting() const { return backlog_.waiting(); }
  std::size_t waiting(LinkId link) const { return backlog_.waiting(link); }
  /// Nothing waits, and no data is on the way and not yet taken.
  bool idle() const { return waiting() == 0 && windows_.in_flight() == 0; }
  /// True if the last next() found a link whose own window was open when that of all shaped links
  /// was not.
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
