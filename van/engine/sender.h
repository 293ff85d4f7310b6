// SPDX-License-Identifier: Apache-2.0
// Sender: a Van's way out. What waits is submitted as the queue and the paths would have it, each
// frame numbered and stamped as it leaves; and what is owed to the far ends is told.
#pragma once

#include "common/clock.h"
#include "common/config/config.h"
#include "van/host_window/host_window.h"
#include "van/pacing/pacer.h"
#include "van/path/scheduling_delay.h"
#include "van/session/delayed_acks.h"
#include "van/session/frame_handler.h"

namespace stretto {

/// A deadline as it travels: the microseconds that are left, at least one; 0: no matter.
std::uint64_t time_left(Time deadline, Time now);
/// What travelled so, at this end: clocks differ between hosts, so it counts from its coming.
Time deadline_in(std::uint64_t microseconds, const Clock& clock);

/// Thread: loop.
class Sender {
 public:
  /// All outlive it.
  struct Parts {
    Transport& transport;
    LinkLives& links;
    FrameTrace& trace;
    FrameCounters& counters;
    const Clock& clock;
  };
  /// `whole_frames`: towards other hosts too, and the windows are set_windows'.
  Sender(const Parts& parts, bool whole_frames, const host::HostOptions& host = {},
         Checksums checksums = Checksums::kNone);

  /// Stamped on every frame.
  void set_node(NodeId node) { node_ = node; }
  void set_epoch(std::uint32_t epoch) { epoch_ = epoch; }
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);

  void add_link(LinkId id, Time now);
  void remove_link(LinkId id);
  /// Nothing of it leaves until send_again().
  void rest(LinkId id);
  /// A new link carries the session: what the far end does not have goes first.
  void send_again(LinkId id);
  /// The first frame on a link that is to carry a session that there is: it has no number in that.
  Transport::Sent greet(LinkId carrier, const Buffer& message, bool checksum);
  void writable(LinkId id);
  /// A control frame, with the acks of this moment: not of when it leaves. Unknown links are
  /// ignored.
  void queue_control(LinkId id, Buffer message) {
    queue_control(id, wire::Kind::kControl, std::move(message));
  }
  void note_owed(LinkId id, LinkState& link) { debts_.note(id, link, parts_.clock.now()); }
  /// Tells what is owed, where it is much, urgent or late.
  void settle(LinkId id, LinkState& link);
  void settle_all();
  /// How long the loop waits for a processor is part of its paths: a turn begins, or has polled.
  void look_at_waits(bool has_polled);
  /// Submits what may go.
  void pump(FrameHandler& handler);
  Time next_due() const;

  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }
  Pacer& pacer() { return pacer_; }

 private:
  void queue_control(LinkId id, wire::Kind kind, Buffer message);
  void tell_host(Time now);
  bool has_sent_again(LinkId id);
  wire::Header stamp(const Session& session, const SendQueue::Pick& pick, Time now);
  void note_taken(LinkState& link, const SendQueue::Pick& pick, const wire::Header& header,
                  Time now, FrameHandler& handler);

  Parts parts_;
  SendQueue queue_;
  Pacer pacer_{queue_};
  host::HostWindow host_;
  SchedulingDelay waits_;
  DelayedAcks debts_;
  std::vector<LinkId> again_;  // Sessions of which frames are to be sent again.
  NodeId node_ = 0;
  std::uint32_t epoch_ = 0;
  const bool paced_;  // Towards other hosts.
  const Checksums checksums_;
};

}  // namespace stretto
