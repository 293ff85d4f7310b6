// SPDX-License-Identifier: Apache-2.0
// FrameTrace: the Van's notes about its frames for traces: time in the queue, submission,
// preemption, arrival.
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

  /// The tracer must outlive this; null: tracing is off.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }

  /// Call before a data frame is queued.
  Frame queued(Frame frame) const {
    if (on()) frame.times.queued = tracer_->now(clock_);
    return frame;
  }
  /// Call before a slice is submitted: the peer may receive it before the submission returns.
  void leaves() {
    if (on()) leaves_at_ = tracer_->now(clock_);
  }
  /// saw(): the loop has read the clock. rests(): the loop is about to wait.
  void saw(Time now) {
    if (on()) tracer_->saw(now);
  }
  void rests() {
    if (on()) tracer_->rests();
  }
  /// The loop continues after a wait.
  void wakes() {
    if (on()) tracer_->read(clock_);
  }
  /// When the loop must call wakes() at the latest.
  Time next_pulse() const { return on() ? tracer_->next_pulse() : Time::max(); }
  /// State of a link.
  struct Marks {
    std::uint64_t last_order = 0;  ///< Of the frame whose slice was sent last.
  };
  /// A slice of a data frame was submitted, and is still in the queue.
  void left(NodeId peer, Marks& marks, const SendQueue::Pick& pick) {
    if (pick.control) return;
    const bool preempted = pick.offset > 0 && marks.last_order != pick.frame->order;
    if (preempted) ++preemptions_;
    marks.last_order = pick.frame->order;
    if (on()) note_left(peer, pick, preempted);
  }
  /// Number of frames that other frames of their link interrupted.
  std::uint64_t preemptions() const { return preemptions_; }
  /// A slice of a sliced frame arrived: the first one is the frame's begin; an abandoned frame is
  /// forgotten.
  void slice_came(LinkId link, const wire::Header& header) {
    if ((header.flags & wire::kAbandoned) != 0) {
      begun_.erase({link, wire::ContinuationFrame::of(header).first_sequence});
    } else if (on() && header.kind != wire::Kind::kMore) {
      note_begun(link, header);
    }
  }
  /// A whole data frame arrived, and is about to be handled. handled() notes its arrival, unless
  /// the handler includes it in a note of its own.
  const wire::Header& came(LinkId link, const wire::Header& header) {
    if (on()) note_came(link, header);
    return header;  // NOLINT: it outlives the call.
  }
  void handled() {
    if (std::exchange(coming_, false)) tracer_->note(arrival_);
  }
  /// When the current frame began to arrive, in a trace's nanoseconds; 0: it is not traced. The
  /// caller must note its arrival.
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
  TraceRecord arrival_;                                             // Of the current frame,
  bool coming_ = false;                                             // if not noted yet.
  std::map<std::pair<LinkId, std::uint64_t>, std::int64_t> begun_;  // By the first sequence.
};

}  // namespace stretto
