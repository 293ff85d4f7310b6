// SPDX-License-Identifier: Apache-2.0
// Van: frames in, frames out, over any transport. It is the wiring: the lives of links are its
// LinkManager's, what leaves is the sender's, what a poll brings is sorted by its Arrivals and read
// by the receiver, and what two ends know of one another is their session. What the frames mean is
// its handler's business.
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

/// The scheduler's identity; everybody else's is larger.
inline constexpr NodeId kSchedulerNode = 1;

/// What holds for a Van as long as it lives.
struct VanOptions {
  /// How long a session whose link breaks waits for a new one, and then ends; the handler hears of
  /// that only.
  ReconnectTimeouts limits = {};
  /// Hands frames over whole, towards other hosts too, and the windows are set_windows'.
  bool whole_frames = false;
  /// Of what leaves. Of what comes all that are there are verified.
  Checksums checksums = Checksums::kNone;
  /// Frames of one link whose slices are coming hold no more than this, beyond a first one; what
  /// goes beyond is dropped as it comes, and on_data gets no payload.
  std::uint64_t most_begun_bytes = std::numeric_limits<std::uint64_t>::max();
  /// False: each slice of a data frame reaches on_data as it comes, and no memory is allocated for
  /// the whole frame. For endpoints that take no data frames.
  bool assembles = true;
  /// For how long step() looks again before it sleeps, at most. Zero: never.
  Duration look_ahead{};
  /// With which other processes of this host a window is shared.
  host::HostOptions host = {};
};

/// What a frame that waits may still be asked: whose it is, and when it is wanted.
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
  /// For making links, and for admitting, refusing and ending them.
  LinkManager& links() {
    owner_.check_if_owned();
    return links_;
  }

  /// Writable memory that data frames are best sent from.
  Buffer allocate(std::size_t bytes) { return transport_->allocate(bytes); }

  /// Who we are, and which roster we follow: stamped on every frame. Data frames of epochs before
  /// `fence` are refused.
  void set_node(NodeId node) {
    out_.set_node(node);
    mender_.set_node(node);
  }
  void set_epoch(std::uint32_t epoch, std::uint32_t fence);
  /// What may be in flight to far ends on this host, to one and to all. To others it follows the
  /// path that is measured, up to the second.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
    out_.set_windows(link_window_bytes, total_window_bytes);
  }
  /// Silence after which a node is lost, and a link that is not made anew: ReconnectTimeouts and
  /// Transport::set_dead_after.
  void set_dead_after(Duration limit);
  /// What is noted of data frames for traces.
  FrameTrace& trace() { return trace_; }
  const FrameTrace& trace() const { return trace_; }

  /// Queues a data frame. Kind, dtype, flags, priority, key, version, base and what else the kind
  /// needs are the caller's; the rest is filled in when it leaves.
  void send(LinkId link, const wire::Header& header, Buffer payload, const SendTerms& terms = {});
  void send_control(LinkId link, const control::Message& message);
  /// The same, serialised already: what goes to many is one lease.
  void send_control(LinkId link, Buffer message);
  /// Pushes of the far end that have been applied, up to this push sequence. Told with whatever
  /// goes there next; by a frame of its own if `at_once`.
  void ack(LinkId link, std::uint64_t push_sequence, bool at_once);

  /// Sends what may go and handles what has come, waiting at most `wait` for it.
  void step(Handler& handler, Duration wait, WaitReason awaits = WaitReason::kCalls);
  /// When it must be stepped at the latest: what it owes the far ends is told within a millisecond.
  Time next_due() const;
  /// Makes a waiting step return; may outlive this. Thread: any.
  const std::shared_ptr<Waker>& waker() const { return waker_; }
  /// Ends all links and the transport, and with them every lease on what was to be sent: when this
  /// returns nobody reads the users' memory. Only waker() and what was counted may be asked for
  /// afterwards.
  void shut();
  /// Transport::lingers: step() is still needed.
  bool lingers() const { return transport_->lingers(); }

  const Counters& counters() const { return counters_; }
  /// What waits: for steering it, and to be looked at.
  SendQueue& queue() {
    owner_.check_if_owned();
    return out_.queue();
  }
  const SendQueue& queue() const { return out_.queue(); }

 private:
  std::unique_ptr<Transport> transport_;  // Null once shut.
  std::shared_ptr<Waker> waker_;
  const Clock& clock_;
  LinkLives lives_;
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
