// SPDX-License-Identifier: Apache-2.0
// The ring of records: order, counted drops, and two concurrent threads.
#include "observe/trace/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace stretto {
namespace {

TraceNote numbered(std::uint64_t round) {
  TraceNote note;
  note.span.round = round;
  return note;
}

// The records available now, at most `most`.
std::vector<TraceNote> taken(TraceRing& ring, std::size_t most = 64) {
  std::span<const TraceNote> some = ring.look();
  some = some.first(std::min(some.size(), most));
  const std::vector<TraceNote> notes(some.begin(), some.end());
  ring.release(notes.size());
  return notes;
}

TEST(Trace, EveryKindHasANameThatLeadsBack) {
  for (std::uint8_t number = 1; number <= kTraceKinds; ++number) {
    const auto kind = static_cast<TraceKind>(number);
    EXPECT_FALSE(name_of(kind).empty());
    EXPECT_EQ(trace_kind_from(name_of(kind)), kind);
  }
  EXPECT_TRUE(name_of(static_cast<TraceKind>(0)).empty());
  EXPECT_TRUE(name_of(static_cast<TraceKind>(kTraceKinds + 1)).empty());
  EXPECT_EQ(static_cast<int>(trace_kind_from("nothing")), 0);
}

TEST(Trace, RecordsComeInOrderAcrossTheEndOfTheRing) {
  TraceRing ring(8);
  std::uint64_t put = 0;
  std::uint64_t seen = 0;
  for (int turn = 0; turn < 20; ++turn) {
    for (int i = 0; i < 3; ++i) ring.put(numbered(put++));
    for (int look = 0; look < 2; ++look) {  // To the ring's end, and on from its start.
      for (const TraceNote& note : taken(ring, 5)) EXPECT_EQ(note.span.round, seen++);
    }
  }
  EXPECT_EQ(seen, put);
  EXPECT_EQ(ring.dropped(), 0U);
}

TEST(Trace, AFullRingDropsTheNewestAndCounts) {
  TraceRing ring(4);
  for (std::uint64_t i = 0; i < 10; ++i) ring.put(numbered(i));
  EXPECT_EQ(ring.dropped(), 6U);
  const std::vector<TraceNote> first = taken(ring);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[3].span.round, 3U);
  ring.put(numbered(10));
  const std::vector<TraceNote> next = taken(ring);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].span.round, 10U);
}

TEST(Trace, OneThreadPutsAndAnotherTakes) {
  constexpr std::uint64_t kRecords = 200'000;
  TraceRing ring(1024);
  std::uint64_t seen = 0;
  std::uint64_t last = 0;
  std::atomic<bool> over{false};
  std::jthread taker([&] {
    for (;;) {
      const bool last_look = over.load();
      const std::span<const TraceNote> notes = ring.look();
      for (const TraceNote& note : notes) {
        EXPECT_GT(note.span.round, last);
        EXPECT_EQ(note.span.tensor, static_cast<std::uint32_t>(note.span.round));
        last = note.span.round;
      }
      seen += notes.size();
      if (notes.empty() && last_look) return;
      ring.release(notes.size());
    }
  });
  for (std::uint64_t i = 1; i <= kRecords; ++i) {
    TraceNote note = numbered(i);
    note.span.tensor = static_cast<std::uint32_t>(i);
    ring.put(note);
  }
  over.store(true);
  taker.join();
  EXPECT_EQ(seen + ring.dropped(), kRecords);
}

TEST(Trace, ATracerKeepsNothingUntilItIsStarted) {
  Tracer tracer;
  EXPECT_FALSE(tracer.on());
  tracer.note(numbered(1));
  EXPECT_EQ(tracer.ring(), nullptr);
  tracer.start(16);
  tracer.note(numbered(2));
  tracer.stop();
  tracer.note(numbered(3));
  const std::vector<TraceNote> notes = taken(*tracer.ring());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].span.round, 2U);
}

// Advances with each read.
class CountingClock final : public Clock {
 public:
  Time now() const override { return Time(Duration(++looks_)); }
  int looks() const { return looks_; }

 private:
  mutable int looks_ = 0;
};

TEST(Trace, ReusesClockReadingOnlyBriefly) {
  const CountingClock clock;
  Tracer tracer;
  const Time untraced = tracer.now(clock);
  EXPECT_LT(untraced, tracer.now(clock)) << "nobody traces";
  tracer.start(16);
  const Time first = tracer.now(clock);
  EXPECT_EQ(tracer.now(clock), first);
  tracer.worked(100);
  EXPECT_EQ(tracer.now(clock), first);
  tracer.worked(1 << 20);
  const Time second = tracer.now(clock);
  EXPECT_GT(second, first);
  tracer.rests();
  EXPECT_GT(tracer.now(clock), second);
  const Time third = tracer.read(clock);
  EXPECT_EQ(tracer.now(clock), third);
  const int looks = clock.looks();
  for (int i = 0; i < 100; ++i) tracer.now(clock);
  EXPECT_GT(clock.looks(), looks + 5);
  tracer.stop();
  tracer.start(16);
  EXPECT_GT(tracer.now(clock), third) << "of an earlier trace";
}

TEST(Trace, LooksAtTheClockThatAreFarApartAreAStall) {
  Tracer tracer;
  Time now = Time() + 1h;
  tracer.saw(now);
  tracer.start(16);
  tracer.saw(now += 1h);  // The first of this trace.
  EXPECT_EQ(tracer.next_pulse(), now + Tracer::kPulse);
  tracer.saw(now += Tracer::kStall);
  EXPECT_TRUE(taken(*tracer.ring()).empty());
  const Time before = now;
  tracer.saw(now += 50ms);
  const std::vector<TraceNote> notes = taken(*tracer.ring());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].span.kind, TraceKind::kStall);
  EXPECT_EQ(notes[0].span.begin_ns, trace_time(before));
  EXPECT_EQ(notes[0].span.end_ns, trace_time(now));
  tracer.stop();
  tracer.start(16);
  tracer.saw(now += 50ms);
  EXPECT_TRUE(taken(*tracer.ring()).empty()) << "between two traces";
}

}  // namespace
}  // namespace stretto
