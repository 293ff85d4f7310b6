// SPDX-License-Identifier: Apache-2.0
// The spans that a shard records of contributions during a trace: sender, part and duration.

#include <set>

#include "server/shard.h"
#include "tests/server/shard_fixture.h"

namespace stretto::fake {
namespace {

using Action = control::TraceCommand::Action;

// Advances by a microsecond with each read.
class TickingClock : public Clock {
 public:
  explicit TickingClock(sim::VirtualClock& clock) : clock_(clock) {}
  Time now() const override {
    clock_.advance_to(clock_.now() + 1us);
    return clock_.now();
  }

 private:
  sim::VirtualClock& clock_;
};

class ShardTraceTest : public ShardTest {
 protected:
  void trace(Action action) {
    control::TraceCommand message{.action = action, .session = 1, .records = 1024};
    say_scheduler(message);
  }
  void TearDown() override { shard_.reset(); }  // Before its clock.
  /// The spans of sums and of updates since the trace started or since the last call.
  std::vector<TraceRecord> noted() {
    std::vector<TraceRecord> found;
    for (const TraceNote& note : notes_of({TraceKind::kSum, TraceKind::kUpdate})) {
      found.push_back(note.span);
    }
    return found;
  }
  std::vector<TraceNote> notes_of(const std::set<TraceKind>& kinds) {
    scheduler_.controls();
    trace(Action::kSend);
    std::vector<TraceNote> found;
    for (const control::Message& message : scheduler_.controls()) {
      for (const TraceNote& note : std::get<control::TraceChunk>(message).notes) {
        if (kinds.contains(note.span.kind)) found.push_back(note);
      }
    }
    return found;
  }

  const TickingClock ticking_{clock_};
};

TEST_F(ShardTraceTest, SumSpanNamesItsContribution) {
  begin();
  for (FarEnd* worker : {&first_, &second_}) {
    open_at(*worker, 9, spec("grads", Dtype::kF32, 2));
  }
  step();
  trace(Action::kStart);
  wire::Header header = push_header({9, 0}, 1);
  header.priority = 7;
  const std::int64_t before = trace_time(clock_.now());
  first_.send(header, bytes_of({1, 2}));
  step();
  header.priority = 0;
  second_.send(header, bytes_of({1, 2}));
  step();
  const std::vector<TraceRecord> spans = noted();
  ASSERT_EQ(spans.size(), 2U);
  for (const TraceRecord& span : spans) {
    EXPECT_EQ(span.kind, TraceKind::kSum);
    EXPECT_EQ(span.tensor, 9U);
    EXPECT_EQ(span.part, 0U);
    EXPECT_EQ(span.round, 1U);
    EXPECT_EQ(span.bytes, 8U);
    EXPECT_EQ(span.frame, static_cast<std::uint8_t>(wire::Kind::kPush));
    EXPECT_GE(span.begin_ns, before);
    EXPECT_GE(span.end_ns, span.begin_ns);
  }
  EXPECT_EQ(spans[0].peer, first_.node);
  EXPECT_EQ(spans[1].peer, second_.node);
  EXPECT_EQ(spans[0].priority, 7);
  EXPECT_EQ(spans[1].priority, 0);
}

TEST_F(ShardTraceTest, TheShareThatEndsARoundOfARuleIsItsUpdate) {
  begin();
  open({.update = {.rule = Rule::kSgd, .rate = 0.5}});
  trace(Action::kStart);
  push(first_, 1, {1, 2});
  push(second_, 1, {1, 2});
  const std::vector<TraceRecord> spans = noted();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].kind, TraceKind::kSum);
  EXPECT_EQ(spans[1].kind, TraceKind::kUpdate);
}

// An analysis finds by this which contribution a value waited for.
TEST_F(ShardTraceTest, SendWaitBeginsAfterLastSum) {
  shards_clock_ = &ticking_;
  begin();
  constexpr std::size_t kElements = 16 << 10;
  open({}, Dtype::kF32, kElements);
  trace(Action::kStart);
  push(first_, 1, std::vector<float>(kElements, 1));
  push(second_, 1, std::vector<float>(kElements, 1));
  const std::vector<TraceNote> notes = notes_of({TraceKind::kSum, TraceKind::kSend});
  ASSERT_EQ(notes.size(), 4U);
  const TraceRecord& last = notes[1].span;
  ASSERT_EQ(last.kind, TraceKind::kSum);
  EXPECT_LT(last.begin_ns, last.end_ns);
  for (const TraceNote& value : {notes[2], notes[3]}) {
    EXPECT_EQ(value.span.kind, TraceKind::kSend);
    EXPECT_GE(value.since_ns, last.end_ns);
  }
}

TEST_F(ShardTraceTest, JobContinuesWhenTraceCannotBeWritten) {
  config_.trace.folder = "/dev/null/traces";
  testing::internal::CaptureStderr();
  begin();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("/dev/null/traces"));
  open();
  push(first_, 1, {1, 2});
  push(second_, 1, {1, 2});
  EXPECT_EQ(first_.data().size(), 1U);
}

}  // namespace
}  // namespace stretto::fake
