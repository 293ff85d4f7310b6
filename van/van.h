// SPDX-License-Identifier: Apache-2.0
// Van: frames in, frames out, over any transport. It admits links, checks what arrives, numbers
// what leaves, tells the far end what has been taken, and lets the most urgent go first. What the
// frames mean is its handler's business.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <thread>

#include "common/clock.h"
#include "van/assembly.h"
#include "van/control.pb.h"
#include "van/frame_trace.h"
#include "van/pacer.h"
#include "van/send_queue.h"
#include "van/transport.h"
#include "van/waits.h"
#include "van/waker.h"

namespace stretto {

/// The scheduler's identity; everybody else's is larger.
inline constexpr NodeId kSchedulerNode = 1;

/// A deadline as it travels: the microseconds that are left, at least one; 0: no matter.
std::uint64_t time_left(Time deadline, Time now);

/// Thread: loop.
class Van final : private Transport::Sink {
 public:
  /// What a role does with what arrives. Called inside step().
  class Handler {
   public:
    virtual ~Handler() = default;
    /// A control message. On a link that has not been admitted it is a Hello (they connected), or a
    /// Welcome or Fault (we did); anything else there has been refused already.
    virtual void on_control(LinkId link, const wire::Control& message) = 0;
    /// A data frame of an admitted link: any that is not control, credit or more.
    virtual void on_data(LinkId link, const wire::Header& header, Buffer payload) = 0;
    /// The far end has applied a push of ours.
    virtual void on_acked(LinkId link, wire::Key key) = 0;
    /// The last of a frame with this tag has been handed over: it is out of reach now. Must not
    /// close links.
    virtual void on_left(LinkId, std::uint64_t /*tag*/) {}
    /// Where the payload of this frame, whose slices are coming, should be put together; empty: in
    /// memory of the Van. on_data's payload starts there then. Asked again for every slice: if it
    /// is empty then, the rest is dropped, and on_data gets no payload.
    virtual std::span<std::byte> landing(LinkId, const wire::Header&) { return {}; }
    /// The link has ended. Only for links that the handler has connected or seen a Hello of.
    virtual void on_broken(LinkId link, const Status& why) = 0;
  };

  /// What has gone by, for metrics and tests.
  struct Counters {
    std::uint64_t frames_in = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t data_bytes_in = 0;
    std::uint64_t data_bytes_out = 0;
    std::uint64_t refused = 0;  ///< Frames and links from outside that were not ours.
    std::uint64_t breaks = 0;   ///< Links that ended and were not closed here.
    std::uint64_t stalls = 0;  ///< Times that sending ended while something had to wait for credit.
  };

  Van(std::unique_ptr<Transport> transport, const Clock& clock);
  const Clock& clock() const { return clock_; }
  ~Van() override;

  Result<std::string> listen(std::string_view address) { return transport_->listen(address); }
  /// Connects and says hello.
  Result<LinkId> connect(std::string_view address, const wire::Hello& hello);
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
  void set_node(NodeId node) { node_ = node; }
  void set_epoch(std::uint32_t epoch, std::uint32_t fence);
  /// What may be under way to far ends on this host, to one and to all. To others it follows the
  /// path that is measured, up to the second.
  void set_windows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);
  /// No frame is larger than this with its header left off, on any link: what is larger goes in
  /// slices, wherever it goes.
  void set_largest_slice(std::uint64_t bytes) { queue_.windows().set_largest_slice(bytes); }
  /// Frames of one link whose slices are coming hold no more than this, beyond a first one; what
  /// goes beyond is dropped as it comes, and on_data gets no payload.
  void set_most_begun(std::uint64_t bytes) { most_begun_bytes_ = bytes; }
  /// Hands frames over whole, towards other hosts too, and the windows are set_windows'. Before any
  /// link is made.
  void set_whole_frames() { paced_ = false; }
  /// Transport::set_dead_after.
  void set_dead_after(Duration limit) { transport_->set_dead_after(limit); }
  /// What becomes of data frames is noted there from now on. It outlives this.
  void set_tracer(Tracer* tracer) { trace_.set_tracer(tracer); }
  /// FrameTrace::take_arrival, of the frame that the handler is handling.
  std::int64_t take_arrival() { return trace_.take_arrival(); }

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
  void send_control(LinkId link, const wire::Control& message);
  /// The same, serialised already: what goes to many is one lease.
  void send_control(LinkId link, Buffer message);
  /// When what a frame asks for is wanted. Clocks differ between hosts, so it comes as the time
  /// that is left.
  Time deadline_of(const wire::Header& header) const { return deadline_in(header.deadline); }
  /// The same from the number itself, in microseconds; 0: no matter.
  Time deadline_in(std::uint64_t microseconds) const;
  // Of one tag, what still waits here; a frame may have left in part.
  std::vector<wire::Key> cancel(std::uint64_t tag);
  void set_urgency(std::uint64_t tag, const Urgency& urgency);
  void pause(std::uint64_t tag) { queue_.pause(tag); }
  void resume(std::uint64_t tag);
  /// Pushes of the far end that have been applied, up to this push sequence. Told with whatever
  /// goes there next; by a frame of its own if `at_once`.
  void ack(LinkId link, std::uint64_t push_sequence, bool at_once);

  /// Sends what may go and handles what has come, waiting at most `wait` for it.
  void step(Handler& handler, Duration wait);
  /// When it must be stepped at the latest: what it owes the far ends is told within a millisecond.
  Time next_due() const;
  /// Makes a waiting step return. Thread: any.
  void wake() { waker_->wake(); }
  /// The same for who may outlive this. Thread: any.
  const std::shared_ptr<Waker>& waker() const { return waker_; }
  /// Ends all links and the transport, and with them every lease on what was to be sent: when this
  /// returns nobody reads the users' memory. Only wake() and what was counted may be asked for
  /// afterwards.
  void shut();
  /// Transport::lingers: step() is still needed.
  bool lingers() const { return transport_->lingers(); }

  bool is_open(LinkId link) const;
  NodeId peer_of(LinkId link) const;
  const Counters& counters() const { return counters_; }
  std::uint64_t preemptions() const { return trace_.preemptions(); }
  const SendQueue& queue() const { return queue_; }
  /// Control messages and data that wait, or are on the way and not yet taken.
  bool idle() const { return queue_.waiting() == 0 && queue_.windows().under_way() == 0; }

 private:
  struct Link {
    NodeId peer = 0;
    bool ours = false;     // We connected.
    bool greeted = false;  // The handler knows of it.
    bool admitted = false;
    bool visits = false;   // Its end is nobody's loss.
    bool closing = false;  // Refused: ends when its fault has left.
    Time since;            // When it came, or when it was refused.
    std::uint64_t sent_sequence = 0;
    std::uint64_t received_sequence = 0;
    std::uint64_t push_sequence = 0;
    std::deque<std::pair<std::uint64_t, wire::Key>> unacked;  // Pushes handed over, oldest first.
    std::uint64_t taken_bytes = 0;                            // Data bytes from the far end,
    std::uint64_t told_bytes = 0;    // and how many of them it knows that we took.
    std::uint64_t acked = 0;         // Its pushes that we applied,
    std::uint64_t told_acked = 0;    // and how many of them it knows of.
    std::uint64_t heard_credit = 0;  // That it told last.
    bool ack_at_once = false;
    bool credit_at_once = false;
    bool credit_queued = false;
    bool owing = false;  // Is in owing_.
    Assembly assembly;   // Of frames that come in slices.
    FrameTrace::Marks marks;
  };

  void on_link(LinkId link) override;
  void on_frame(LinkId link, wire::HeaderView bytes, Buffer payload) override;
  void on_broken(LinkId link, Status why) override { drop(link, why); }
  void on_writable(LinkId link) override { queue_.writable(link); }

  void open(LinkId id, Link& link);
  Status accept(LinkId id, Link& link, const wire::Header& header);
  Status take(LinkId id, Link& link, const wire::Header& header, Buffer payload);
  Status take_slice(LinkId id, Link& link, const wire::Header& header, const Buffer& payload);
  void deliver(LinkId id, const wire::Header& header, Buffer payload);
  Status take_control(LinkId id, Link& link, const Buffer& payload);
  void admit_greeted(LinkId id);
  bool take_acks(LinkId id, Link& link, std::uint64_t acked);
  void drop(LinkId id, const Status& why);
  void forget(LinkId id);
  void pump();
  void queue_control(LinkId id, Frame frame);
  wire::Header stamp(Link& link, const SendQueue::Pick& pick, Time now);
  void note_taken(Link& link, const SendQueue::Pick& pick, const wire::Header& header, Time now);
  void note_owed(LinkId id, Link& link);
  bool settle(LinkId id, Link& link, bool late);
  void settle_debts();
  void expire_strangers();

  std::unique_ptr<Transport> transport_;  // Null once shut.
  std::shared_ptr<Waker> waker_;
  const Clock& clock_;
  SendQueue queue_;
  Pacer pacer_{queue_};
  Waits waits_;
  FrameTrace trace_{clock_};
  std::uint64_t most_begun_bytes_ = std::numeric_limits<std::uint64_t>::max();
  bool paced_ = true;  // Towards other hosts.
  std::map<LinkId, Link> links_;
  std::deque<std::pair<LinkId, Time>> owing_;  // Links owed credit or acks, and since when.
  std::size_t strangers_ = 0;                  // Links not admitted,
  std::size_t refused_ = 0;                    // and those that are about to be closed.
  Time next_expiry_;
  bool unsent_ = false;               // Something was queued since the last pump.
  std::size_t unanswered_bytes_ = 0;  // That have come since then.
  Handler* handler_ = nullptr;        // Only inside step().
  NodeId node_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t fence_ = 0;
  std::uint64_t credit_step_bytes_ = 0;  // Owed credit that is told at once.
  Counters counters_;
  std::thread::id owner_;
};

}  // namespace stretto
