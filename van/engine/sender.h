// SPDX-License-Identifier: Apache-2.0
// Sender: a Van's outgoing side. It submits queued frames as the queue and the paths allow, numbers
// and stamps each frame as it leaves, and sends pending acks.
#pragma once

#include "common/clock.h"
#include "common/config/config.h"
#include "van/host_window/host_window.h"
#include "van/pacing/pacer.h"
#include "van/path/scheduling_delay.h"
#include "van/session/delayed_acks.h"
#include "van/session/frame_handler.h"

namespace stretto {

/// Wire form of a deadline: microseconds left, at least one; 0: no deadline.
std::uint64_t time_left(Time deadline, Time now);
/// Local deadline from its wire form. Clocks of hosts differ, so the time counts from arrival.
Time deadline_in(std::uint64_t microseconds, const Clock& clock);

/// Thread: loop.
class Sender {
 public:
  /// All must outlive the Sender.
  struct Parts {
    Transport& transport;
    LinkTable& links;
    FrameTrace& trace;
    FrameCounters& counters;
    const Clock& clock;
  };
  /// `whole_frames`: unsliced also to other hosts, with the windows of set_windows().
  Sender(const Parts& parts, bool whole_frames, const host::HostOptions& host = {},
         Checksums checksums = Checksums::kNone);

  /// Stamped on every frame.
  void set_node(NodeId node) { node_ = node; }
  void set_epoch(std::uint32_t epoch) { epoch_ = epoch; }
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);

  void add_link(LinkId id, Time now);
  void remove_link(LinkId id);
  /// Stops the session's frames until send_again().
  void rest(LinkId id);
  /// A new link carries the session: frames that the peer lacks are retransmitted first.
  void send_again(LinkId id);
  /// Sends the hello frame on a link that resumes a session. The hello frame has no sequence number
  /// in the session.
  Transport::Sent greet(LinkId carrier, const Buffer& message, bool checksum);
  void writable(LinkId id);
  /// Queues a control frame with the acks of now, not of the time it leaves. Unknown links are
  /// ignored.
  void queue_control(LinkId id, Buffer message) {
    queue_control(id, wire::Kind::kControl, std::move(message));
  }
  void note_owed(LinkId id, LinkState& link) { debts_.note(id, link, parts_.clock.now()); }
  /// Sends pending acks if they exceed the threshold, are urgent, or are late.
  void settle(LinkId id, LinkState& link);
  void settle_all();
  /// Adds the loop's scheduling delay to its paths; called before and after an iteration's poll.
  void look_at_waits(bool has_polled);
  /// Submits what the windows allow.
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
  std::vector<LinkId> again_;  // Sessions with frames to retransmit.
  NodeId node_ = 0;
  std::uint32_t epoch_ = 0;
  const bool paced_;  // Towards other hosts.
  const Checksums checksums_;
};

}  // namespace stretto
