// SPDX-License-Identifier: Apache-2.0
// Builds spans from slices. A frame's identity in a trace is its part and the worker's round on it:
// the version of a push, or own_applied of a value.
#include "van/session/frame_trace.h"

namespace stretto {
namespace {

// Limit of remembered partial frames: more than all links of a job have in flight.
constexpr std::size_t kMostBegun = std::size_t{1} << 16;

TraceRecord record_of(const wire::Header& header, NodeId peer, std::uint32_t bytes) {
  TraceRecord record;
  record.round = wire::round_of(header);
  record.tensor = header.key.tensor;
  record.part = header.key.part;
  record.bytes = bytes;
  record.peer = peer;
  record.priority = header.priority;
  record.frame = static_cast<std::uint8_t>(header.kind);
  return record;
}

}  // namespace

void FrameTrace::note_left(NodeId peer, const SendQueue::Pick& pick, bool preempted) {
  Frame& frame = *pick.frame;
  if (frame.times.queued == Time()) return;  // Queued before tracing began.
  // Or its first slice left before tracing began.
  if (pick.offset != 0 && frame.times.began == Time()) return;
  tracer_->worked(pick.bytes);
  const Time now = leaves_at_;
  if (pick.offset == 0) frame.times.began = now;
  if (preempted || pick.last) {
    TraceNote note{record_of(frame.header, peer, static_cast<std::uint32_t>(frame.payload.size()))};
    const auto put = [&](TraceKind kind, Time begin) {
      note.span.kind = kind;
      note.span.begin_ns = trace_time(begin);
      note.span.end_ns = trace_time(now);
      tracer_->note(note);
    };
    if (preempted) {
      put(TraceKind::kPreempt, frame.times.left);
      put(TraceKind::kResume, now);
    }
    note.since_ns = trace_time(frame.times.queued);
    if (pick.last) put(TraceKind::kSend, frame.times.began);
  }
  frame.times.left = now;
}

void FrameTrace::note_begun(LinkId link, const wire::Header& header) {
  if (begun_.size() < kMostBegun) {
    begun_[{link, header.sequence}] = trace_time(tracer_->read(clock_));
  }
}

void FrameTrace::note_came(LinkId link, const wire::Header& header) {
  arrival_ = record_of(header, header.sender, header.bytes);
  arrival_.kind = TraceKind::kReceive;
  // Reads the clock again: no frame may seem to arrive before it was sent.
  arrival_.end_ns = trace_time(tracer_->read(clock_));
  arrival_.begin_ns = arrival_.end_ns;
  coming_ = true;
  if (begun_.empty()) return;
  const auto begun = begun_.find({link, header.sequence});
  if (begun != begun_.end()) {
    arrival_.begin_ns = begun->second;
    begun_.erase(begun);
  }
}

void FrameTrace::forget(LinkId link) {
  const auto first = begun_.lower_bound({link, 0});
  const auto end = begun_.lower_bound({link + 1, 0});
  begun_.erase(first, end);
}

}  // namespace stretto
