// SPDX-License-Identifier: Apache-2.0
// FrameTrace: what the Van notes of its frames for traces: how long each waited, when it was handed
// over, that it was preempted, when it came.
#pragma once

#include <map>
#include <utility>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/queue/send_queue.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Thread: loop.
class FrameTrace {
 public:
  explicit FrameTrace(const Clock& clock) : clock_(clock) {}

  /// The tracer outlives this; null: nothing is noted.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }

  /// A data frame is about to wait.
  Frame queued(Frame frame) const {
    if (on()) frame.times.queued = tracer_->now(clock_);
    return frame;
  }
  /// A slice is about to be delivered: the far end may have it before this one goes on.
  void leaves() {
    if (on()) leaves_at_ = tracer_->now(clock_);
  }
  /// The loop has looked at the clock, or is about to wait.
  void saw(Time now) {
    if (on()) tracer_->saw(now);
  }
  void rests() {
    if (on()) tracer_->rests();
  }
  /// The loop goes on after waiting.
  void wakes() {
    if (on()) tracer_->read(clock_);
  }
  /// When the loop must do so at the latest.
  Time next_pulse() const { return on() ? tracer_->next_pulse() : Time::max(); }
  /// What is remembered of a link.
  struct Marks {
    std::uint64_t last_order = 0;  ///< Of the frame whose slice left last.
  };
  /// A slice of a data frame has been submitted, and not yet taken out of the queue.
  void left(NodeId peer, Marks& marks, const SendQueue::Pick& pick) {
    if (pick.control) return;
    const bool preempted = pick.offset > 0 && marks.last_order != pick.frame->order;
    if (preempted) ++preemptions_;
    marks.last_order = pick.frame->order;
    if (on()) note_left(peer, pick, preempted);
  }
  /// Frames that stood still between two slices while others of their link went.
  std::uint64_t preemptions() const { return preemptions_; }
  /// A slice of a frame that comes in more than one: the first is when the frame began, and of one
  /// that was abandoned nothing is kept.
  void slice_came(LinkId link, const wire::Header& header) {
    if ((header.flags & wire::kAbandoned) != 0) {
      begun_.erase({link, wire::ContinuationFrame::of(header).first_sequence});
    } else if (on() && header.kind != wire::Kind::kMore) {
      note_begun(link, header);
    }
  }
  /// A data frame has come whole, and is about to be handled. Its coming is noted when it has been,
  /// unless whoever handles it takes that into a note of their own.
  const wire::Header& came(LinkId link, const wire::Header& header) {
    if (on()) note_came(link, header);
    return header;  // NOLINT: it outlives the call.
  }
  void handled() {
    if (std::exchange(coming_, false)) tracer_->note(arrival_);
  }
  /// When the frame that is being handled began to come, in a trace's nanoseconds; 0: it is not
  /// traced. From then on its coming is the caller's to note.
  std::int64_t take_arrival() { return std::exchange(coming_, false) ? arrival_.begin_ns : 0; }
  void forget(LinkId link);

 private:
  bool on() const { return tracer_ != nullptr && tracer_->on(); }
  void note_left(NodeId peer, const SendQueue::Pick& pick, bool preempted);
  void note_begun(LinkId link, const wire::Header& header);
  void note_came(LinkId link, const wire::Header& header);

  const Clock& clock_;
  Tracer* tracer_ = nullptr;
  Time leaves_at_;
  std::uint64_t preemptions_ = 0;
  TraceRecord arrival_;  // Of the frame that is being handled,
  bool coming_ = false;  // if nobody has noted it yet.
  std::map<std::pair<LinkId, std::uint64_t>, std::int64_t> begun_;  // By the first sequence.
};

}  // namespace stretto
