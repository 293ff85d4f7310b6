// SPDX-License-Identifier: Apache-2.0
// Van: frames in, frames out, over any transport. It is the wiring: links come, are admitted or
// refused and end here; what leaves is the sender's, what comes the receiver's, and what two ends
// know of one another is their session. What the frames mean is its handler's business.
#pragma once

#include <memory>

#include "common/loop_owner.h"
#include "van/receiver.h"
#include "van/sender.h"
#include "van/waker.h"

namespace stretto {

/// The scheduler's identity; everybody else's is larger.
inline constexpr NodeId kSchedulerNode = 1;

/// Thread: loop.
class Van final : private Transport::Sink {
 public:
  using Handler = FrameHandler;
  using Counters = FrameCounters;

  Van(std::unique_ptr<Transport> transport, const Clock& clock);
  const Clock& clock() const { return clock_; }
  ~Van() override;

  Result<std::string> listen(std::string_view address) { return transport_->listen(address); }
  /// Connects and says hello.
  Result<LinkId> connect(std::string_view address, const control::Hello& hello);
  /// From now on the link may carry everything, and everything from it must say that it is `peer`.
  void admit(LinkId link, NodeId peer);
  /// The same for one who comes and goes as it likes: the end of its link is no break.
  void admit_visitor(LinkId link, NodeId peer);
  /// Ends a link; the handler hears no more of it.
  void close(LinkId link);
  /// Sends a last fault on a link, and ends it soon after. If the link was admitted the handler
  /// then hears that it has ended.
  void refuse(LinkId link, const Status& why);

  /// Writable memory that data frames are best sent from.
  Buffer allocate(std::size_t bytes) { return transport_->allocate(bytes); }

  /// Who we are, and which roster we follow: stamped on every frame. Data frames of epochs before
  /// `fence` are refused.
  void set_node(NodeId node) { out_.set_node(node); }
  void set_epoch(std::uint32_t epoch, std::uint32_t fence);
  /// What may be in flight to far ends on this host, to one and to all. To others it follows the
  /// path that is measured, up to the second.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes) {
    out_.set_windows(link_window_bytes, total_window_bytes);
  }
  /// Frames of one link whose slices are coming hold no more than this, beyond a first one; what
  /// goes beyond is dropped as it comes, and on_data gets no payload.
  void set_most_begun(std::uint64_t bytes) { in_.set_most_begun(bytes); }
  /// Hands frames over whole, towards other hosts too, and the windows are set_windows'. Before any
  /// link is made.
  void set_whole_frames() { out_.set_whole_frames(); }
  /// Transport::set_dead_after.
  void set_dead_after(Duration limit) { transport_->set_dead_after(limit); }
  /// A session whose link breaks waits so long for a new one, and then ends; the handler hears of
  /// that only. Zero, which is where it begins: it ends with its link. Before any link is made.
  void set_patience(Duration patience) { mender_.set_patience(patience); }
  /// What is noted of data frames for traces.
  FrameTrace& trace() { return trace_; }
  const FrameTrace& trace() const { return trace_; }

  /// What a frame that waits may still be asked: whose it is, and when it is wanted.
  struct Terms {
    std::uint64_t tag = 0;
    Time deadline = Time::max();
    bool bulk = false;  ///< TensorOptions::bulk.
  };
  /// Queues a data frame. Kind, dtype, flags, priority, key, version, base and what else the kind
  /// needs are the caller's; the rest is filled in when it leaves.
  void send(LinkId link, const wire::Header& header, Buffer payload, const Terms& terms);
  void send(LinkId link, const wire::Header& header, Buffer payload) {
    send(link, header, std::move(payload), Terms{});
  }
  void send_control(LinkId link, const control::Message& message);
  /// The same, serialised already: what goes to many is one lease.
  void send_control(LinkId link, Buffer message);
  /// When what a frame asks for is wanted. Clocks differ between hosts, so it comes as the time
  /// that is left.
  Time deadline_of(const wire::Header& header) const { return deadline_in(header.deadline); }
  /// The same from the number itself, in microseconds; 0: no matter.
  Time deadline_in(std::uint64_t microseconds) const;
  // Of one tag, what still waits here; a frame may have left in part.
  std::vector<wire::Key> cancel(std::uint64_t tag) { return out_.queue().cancel(tag); }
  void set_urgency(std::uint64_t tag, const Urgency& urgency) {
    out_.queue().set_urgency(tag, urgency);
  }
  void pause(std::uint64_t tag) { out_.queue().pause(tag); }
  void resume(std::uint64_t tag) { out_.queue().resume(tag); }
  /// Pushes of the far end that have been applied, up to this push sequence. Told with whatever
  /// goes there next; by a frame of its own if `at_once`.
  void ack(LinkId link, std::uint64_t push_sequence, bool at_once);

  /// Sends what may go and handles what has come, waiting at most `wait` for it.
  void step(Handler& handler, Duration wait);
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

  bool is_open(LinkId link) const;
  const Counters& counters() const { return counters_; }
  /// What waits: for steering it, and to be looked at.
  SendQueue& queue() { return out_.queue(); }
  const SendQueue& queue() const { return out_.queue(); }
  /// Control messages and data that wait, or are on the way and not yet taken.
  bool idle() const {
    return out_.queue().waiting() == 0 && out_.queue().windows().in_flight() == 0;
  }

 private:
  void on_link(LinkId link) override;
  void on_frame(LinkId link, wire::HeaderView bytes, Buffer payload) override;
  void on_broken(LinkId link, Status why) override;
  void on_writable(LinkId link) override { out_.writable(links_.carried_by(link).id); }

  void add(LinkId id, bool ours);
  void lose(LinkId id, LinkState& link, const Status& why);
  void drop(LinkId id, const Status& why);
  void mend();
  void forget(LinkId id);
  void pump();
  void expire();

  std::unique_ptr<Transport> transport_;  // Null once shut.
  std::shared_ptr<Waker> waker_;
  const Clock& clock_;
  LinkLives links_;
  FrameTrace trace_{clock_};
  Counters counters_;
  Sender out_;
  LinkMender mender_;
  Receiver in_;
  std::size_t unanswered_bytes_ = 0;  // That have come since the last pump.
  Handler* handler_ = nullptr;        // Only inside step().
  LoopOwner owner_;
};

}  // namespace stretto
