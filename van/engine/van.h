// SPDX-License-Identifier: Apache-2.0
// Van: sends and receives frames over any transport. It connects its parts: LinkManager owns the
// lifetimes of links, Sender sends, TransportEvents dispatches the events of a poll, Receiver
// reads, and Session keeps the state shared with a peer. The handler interprets the frames.
#pragma once

#include <limits>
#include <memory>

#include "common/threads/loop_owner.h"
#include "van/engine/link_manager.h"
#include "van/engine/receiver.h"
#include "van/engine/sender.h"
#include "van/event_loop/spin_poller.h"
#include "van/transport/waker.h"

namespace stretto {

/// The scheduler's node id; all other ids are larger.
inline constexpr NodeId kSchedulerNode = 1;

/// Fixed settings of a Van.
struct VanOptions {
  /// How long a session with a broken link waits for a reconnect before it ends. The handler is
  /// notified only of that end.
  ReconnectTimeouts limits = {};
  /// Frames leave unsliced, also to other hosts, and the windows are those of set_windows().
  bool whole_frames = false;
  /// Checksums of outgoing frames. Every incoming checksum is verified.
  Checksums checksums = Checksums::kNone;
  /// Limit of memory for partial frames of a link, beyond a first frame. Frames beyond the limit
  /// are dropped on arrival, and on_data gets no payload.
  std::uint64_t most_begun_bytes = std::numeric_limits<std::uint64_t>::max();
  /// False: on_data gets each slice of a data frame on arrival, and no memory is allocated for the
  /// whole frame. For endpoints that take no data frames.
  bool assembles = true;
  /// How long step() spins before it sleeps, at most. Zero: never.
  Duration look_ahead{};
  /// The processes of this host that share a window.
  host::HostOptions host = {};
};

/// Terms of a queued frame: its operation and its deadline.
struct SendTerms {
  std::uint64_t tag = 0;
  Time deadline = Time::max();
  bool bulk = false;  ///< TensorOptions::bulk.
};

/// Thread: loop.
class Van final {
 public:
  using Handler = FrameHandler;
  using Counters = FrameCounters;

  Van(std::unique_ptr<Transport> transport, const Clock& clock, const VanOptions& options = {});
  const Clock& clock() const { return clock_; }
  ~Van();

  Result<std::string> listen(std::string_view address);
  /// Opens, admits, refuses and ends links.
  LinkManager& links() {
    owner_.check_if_owned();
    return links_;
  }

  /// Writable memory from which the transport sends data frames at least cost.
  Buffer allocate(std::size_t bytes) { return transport_->allocate(bytes); }

  /// Node id and roster epoch, stamped on every frame. Data frames of epochs before `fence` are
  /// refused.
  void set_node(NodeId node) {
    out_.set_node(node);
    mender_.set_node(node);
  }
  void set_epoch(std::uint32_t epoch, std::uint32_t fence);
  /// Windows towards peers on this host, for one link and for all links. Towards other hosts the
  /// measured path sets the window, up to the total.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
    out_.set_windows(link_window_bytes, total_window_bytes);
  }
  /// Silence after which a node counts as failed and a detached session ends: ReconnectTimeouts and
  /// Transport::set_dead_after.
  void set_dead_after(Duration limit);
  /// Notes about data frames for traces.
  FrameTrace& trace() { return trace_; }
  const FrameTrace& trace() const { return trace_; }

  /// Queues a data frame. The caller sets kind, dtype, flags, priority, key, version, base and the
  /// other fields of the kind; the Van sets the rest when the frame leaves.
  void send(LinkId link, const wire::Header& header, Buffer payload, const SendTerms& terms = {});
  void send_control(LinkId link, const control::Message& message);
  /// For a serialised message: a broadcast needs only one lease.
  void send_control(LinkId link, Buffer message);
  /// Acknowledges applied pushes of the peer, up to this push sequence. Rides on the next frame to
  /// the peer; `at_once`: on a frame of its own.
  void ack(LinkId link, std::uint64_t push_sequence, bool at_once);

  /// Sends what the windows allow and handles what has arrived, waiting at most `wait` for it.
  void step(Handler& handler, Duration wait, WaitReason awaits = WaitReason::kCalls);
  /// The latest time of the next step(): pending acks leave within a millisecond.
  Time next_due() const;
  /// Makes a waiting step() return; may outlive the Van. Thread: any.
  const std::shared_ptr<Waker>& waker() const { return waker_; }
  /// Ends all links, the transport and every lease on outgoing data: afterwards the Van reads no
  /// user memory. Only waker() and the counters may be used after that.
  void shut();
  /// Transport::lingers: step() is still needed.
  bool lingers() const { return transport_->lingers(); }

  const Counters& counters() const { return counters_; }
  /// Queued frames, for steering and inspection.
  SendQueue& queue() {
    owner_.check_if_owned();
    return out_.queue();
  }
  const SendQueue& queue() const { return out_.queue(); }

 private:
  std::unique_ptr<Transport> transport_;  // Null once shut.
  std::shared_ptr<Waker> waker_;
  const Clock& clock_;
  LinkTable lives_;
  FrameTrace trace_{clock_};
  Counters counters_;
  Sender out_;
  Reconnector mender_;
  LinkManager links_;
  Receiver in_;
  SpinPoller lookout_;
  LoopOwner owner_;
};

}  // namespace stretto
