// SPDX-License-Identifier: Apache-2.0
// The trace records of a Van's frames: waiting, sending, preemption and arrival, in virtual time.
#include "van/session/frame_trace.h"

#include <gtest/gtest.h>

#include "observe/trace/timeline.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

class FrameTraceTest : public testing::Test {
 protected:
  FrameTraceTest() { trace_.set_tracer(&tracer_); }

  Frame frame_of(std::uint64_t order, std::int32_t priority) {
    Frame frame;
    frame.header.kind = wire::Kind::kPush;
    frame.header.key = {4, 2};
    frame.header.version = 9;
    frame.header.priority = priority;
    frame.payload = Buffer::allocate(100);
    frame.order = order;
    return trace_.queued(std::move(frame));
  }
  void leave(Frame& frame, std::uint32_t offset, bool last) {
    trace_.leaves();
    trace_.left(7, marks_,
                {.link = 1,
                 .control = false,
                 .frame = &frame,
                 .offset = offset,
                 .bytes = 50,
                 .last = last});
  }
  std::vector<TraceRecord> noted() {
    std::vector<TraceRecord> records;
    if (tracer_.ring() == nullptr) return records;
    const std::span<const TraceNote> notes = tracer_.ring()->look();
    for (const TraceNote& note : notes) {
      trace::unfold(note, [&](const TraceRecord& span) { records.push_back(span); });
    }
    tracer_.ring()->release(notes.size());
    return records;
  }
  // The loop waits for a millisecond.
  void pass() {
    clock_.advance_to(clock_.now() + 1ms);
    trace_.rests();
  }

  sim::VirtualClock clock_;
  Tracer tracer_;
  FrameTrace::Marks marks_;
  FrameTrace trace_{clock_};
};

TEST_F(FrameTraceTest, RecordsNoFrameWhileTracingIsOff) {
  Frame frame = frame_of(1, 0);
  EXPECT_EQ(frame.times.queued, Time());
  leave(frame, 0, true);
  EXPECT_TRUE(noted().empty());
  tracer_.start(64);
  leave(frame, 0, true);  // It was queued before the trace began.
  EXPECT_TRUE(noted().empty());
}

TEST_F(FrameTraceTest, AFrameWaitsAndLeaves) {
  tracer_.start(64);
  Frame frame = frame_of(1, -3);
  pass();
  leave(frame, 0, false);
  pass();
  leave(frame, 50, true);
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kind, TraceKind::kQueueWait);
  EXPECT_EQ(records[0].end_ns - records[0].begin_ns, 1'000'000);
  EXPECT_EQ(records[1].kind, TraceKind::kSend);
  EXPECT_EQ(records[1].begin_ns, records[0].end_ns);
  EXPECT_EQ(records[1].end_ns - records[1].begin_ns, 1'000'000);
  EXPECT_EQ(records[1].round, 9U);
  EXPECT_EQ(records[1].tensor, 4U);
  EXPECT_EQ(records[1].part, 2U);
  EXPECT_EQ(records[1].bytes, 100U);
  EXPECT_EQ(records[1].peer, 7U);
  EXPECT_EQ(records[1].priority, -3);
}

TEST_F(FrameTraceTest, FrameBetweenSlicesCountsAsPreemption) {
  tracer_.start(64);
  Frame slow = frame_of(1, 0);
  leave(slow, 0, false);
  pass();
  Frame urgent = frame_of(2, 5);
  leave(urgent, 0, true);
  pass();
  leave(slow, 50, true);
  std::vector<TraceKind> kinds;
  for (const TraceRecord& record : noted()) kinds.push_back(record.kind);
  const std::vector<TraceKind> wanted = {TraceKind::kQueueWait, TraceKind::kSend,
                                         TraceKind::kPreempt,   TraceKind::kResume,
                                         TraceKind::kQueueWait, TraceKind::kSend};
  EXPECT_EQ(kinds, wanted);
}

TEST_F(FrameTraceTest, AValueComesFromItsFirstSliceOn) {
  tracer_.start(64);
  wire::Header header;
  header.kind = wire::Kind::kValue;
  header.sender = 3;
  header.sequence = 12;
  header.version = 40;
  header.own_applied = 10;
  trace_.slice_came(1, header);
  pass();
  trace_.came(1, header);
  trace_.handled();
  header.sequence = 13;
  trace_.came(1, header);
  trace_.handled();
  trace_.handled();
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].end_ns - records[0].begin_ns, 1'000'000);
  EXPECT_EQ(records[0].round, 10U);
  EXPECT_EQ(records[0].peer, 3U);
  EXPECT_EQ(records[1].end_ns, records[1].begin_ns);
}

TEST_F(FrameTraceTest, HandlerMayRecordArrivalItself) {
  EXPECT_EQ(trace_.take_arrival(), 0);
  tracer_.start(64);
  clock_.advance_to(clock_.now() + 1h);
  wire::Header header;
  header.kind = wire::Kind::kPush;
  trace_.came(1, header);
  EXPECT_EQ(trace_.take_arrival(), trace_time(clock_.now()));
  EXPECT_EQ(trace_.take_arrival(), 0);
  trace_.handled();
  EXPECT_TRUE(noted().empty());
}

TEST_F(FrameTraceTest, TracingWakesLoopAndRecordsStalls) {
  EXPECT_EQ(trace_.next_pulse(), Time::max());
  tracer_.start(64);
  clock_.advance_to(clock_.now() + 1h);
  trace_.wakes();
  EXPECT_EQ(trace_.next_pulse(), clock_.now() + Tracer::kPulse);
  clock_.advance_to(clock_.now() + 50ms);
  wire::Header header;
  header.kind = wire::Kind::kPush;
  trace_.came(1, header);
  trace_.handled();
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kind, TraceKind::kStall);
  EXPECT_EQ(records[0].end_ns - records[0].begin_ns, 50'000'000);
  EXPECT_EQ(records[0].end_ns, records[1].end_ns);
}

TEST_F(FrameTraceTest, OfAnAbandonedFrameNothingIsKept) {
  tracer_.start(64);
  wire::Header first;
  first.kind = wire::Kind::kPush;
  first.sequence = 5;
  first.total = 200;
  trace_.slice_came(1, first);
  pass();
  wire::Header end;
  end.kind = wire::Kind::kMore;
  end.flags = wire::kAbandoned;
  end.sequence = 6;
  end.version = first.sequence;
  trace_.slice_came(1, end);
  // If the abandoned frame's begin were kept, this record would start there.
  trace_.came(1, first);
  trace_.handled();
  const std::vector<TraceRecord> records = noted();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back().kind, TraceKind::kReceive);
  EXPECT_EQ(records.back().begin_ns, records.back().end_ns);
}

}  // namespace
}  // namespace stretto
