// SPDX-License-Identifier: Apache-2.0
// What a loop notes of what it does, for traces: fixed records in a ring of its own. Whoever reads
// them may be another thread; there is no lock, and a full ring drops records and counts them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "common/clock.h"

namespace stretto {

/// What went on. The numbers are the wire's and the files'.
enum class TraceKind : std::uint8_t {
  kCompute = 1,    ///< The user's computing, if they tell of it.
  kQueueWait = 2,  ///< A frame waited in the send queue.
  kSend = 3,       ///< From its first slice to its last, submitted.
  kReceive = 4,    ///< From its first slice to its last, come.
  kSum = 5,        ///< A share was added to a round.
  kUpdate = 6,     ///< A share was applied by an update rule, or the last one's sum and the rule.
  kPullWait = 7,   ///< The user waited for an operation.
  kStage = 8,      ///< Bytes were copied to or from a device.
  kCodec = 9,      ///< Bytes were encoded or decoded.
  kInput = 10,     ///< The user read input.
  kPreempt = 11,   ///< A frame stood still between two slices, while others went.
  kResume = 12,    ///< It went on: a moment.
  kExchange = 13,  ///< An operation, from the user's call to its end.
  kStall = 14,     ///< The loop did not turn: its process did not run, or one turn took so long.
  kTraced = 15,    ///< All of the time in which the node noted anything.
};
inline constexpr std::uint8_t kTraceKinds = 15;

/// "queue_wait" and so on; empty if it is none.
std::string_view name_of(TraceKind kind);
/// The kind of that name; nothing of number 0 exists, so that stands for none.
TraceKind trace_kind_from(std::string_view name);

/// One span.
struct TraceRecord {
  std::int64_t begin_ns = 0;  ///< By the clock of the node that notes it.
  std::int64_t end_ns = 0;
  std::uint64_t round = 0;  ///< Of the worker on the part. With part and worker it links spans.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint32_t bytes = 0;
  std::uint32_t peer = 0;  ///< The node at the far end; of a sum, the worker whose share it was.
  std::int32_t priority = 0;
  TraceKind kind = TraceKind::kCompute;
  std::uint8_t frame = 0;  ///< The frame's kind on the wire; 0: no frame.
  std::uint16_t reserved = 0;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) == 48);

/// What a loop notes at a time: a span, and the one that led to it where the two are the same
/// thing's, since a note costs what it weighs. As it lies in memory it goes over the wire and into
/// files; trace::unfold makes spans of it.
struct TraceNote {
  TraceRecord span;
  /// When what led to the span began; 0: nothing is told of it. A frame that is sent had waited
  /// since then; a share that is summed had been coming; of an exchange, the user waited for its
  /// end.
  std::int64_t since_ns = 0;
};
static_assert(sizeof(TraceNote) == 56 && std::is_trivially_copyable_v<TraceNote>);

/// Nanoseconds of a point in time, as records have them.
inline std::int64_t trace_time(Time time) { return time.time_since_epoch().count(); }

/// Thread: one puts, one takes. Neither ever waits for the other.
class TraceRing {
 public:
  /// Room for at least `notes`, at most kMostNotes. Memory that no note has reached is not touched.
  explicit TraceRing(std::size_t notes);
  static constexpr std::size_t kMostNotes = std::size_t{1} << 22;

  /// The putting thread's. A note for which there is no room is dropped and counted.
  void put(const TraceNote& note) {
    const std::uint64_t at = put_.load(std::memory_order_relaxed);
    if (at - taken_.load(std::memory_order_acquire) > mask_) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    std::memcpy(place(at), &note, sizeof note);
    put_.store(at + 1, std::memory_order_release);
  }
  /// The taking thread's: some that lie side by side, oldest first; empty if there are none.
  std::span<const TraceNote> look() const;
  /// The taking thread's: the oldest, of which it has looked at so many, may be overwritten.
  void release(std::size_t notes) {
    taken_.store(taken_.load(std::memory_order_relaxed) + notes, std::memory_order_release);
  }
  /// All so far. Thread: any.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::size_t room() const { return mask_ + 1; }

 private:
  std::byte* place(std::uint64_t number) const {
    return memory_.get() + (number & mask_) * sizeof(TraceNote);
  }

  std::uint64_t mask_;
  std::unique_ptr<std::byte[]> memory_;
  alignas(64) std::atomic<std::uint64_t> put_{0};
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

/// A loop's switch and ring, handed down to what the loop owns. While it traces, the loop looks at
/// the clock at least every kPulse, and looks that are further apart than kStall are noted as one
/// span: from outside, a process that has no processor looks like one that does nothing.
/// Thread: loop, but for on().
class Tracer {
 public:
  static constexpr Duration kPulse = std::chrono::milliseconds(10);
  /// A transport may wait twice as long as it was told to.
  static constexpr Duration kStall = 4 * kPulse;

  /// All that a span costs while nobody traces. Thread: any.
  bool on() const { return on_.load(std::memory_order_relaxed); }

  /// From now on notes are kept. The ring is made once, at the first start, and stays.
  void start(std::size_t notes);
  void stop() { on_.store(false, std::memory_order_relaxed); }

  void note(const TraceNote& note) {
    if (on()) ring_->put(note);
  }
  void note(const TraceRecord& span) { note(TraceNote{span, 0}); }

  /// Now. While it traces, a reading of the clock serves for a few moments that follow at once:
  /// reading it is most of what a note costs.
  Time now(const Clock& clock) {
    if (!on()) return clock.now();
    if (shares_left_ == 0) return read(clock);
    --shares_left_;
    return seen_;
  }
  /// Now, to the nanosecond; what follows at once may share it.
  Time read(const Clock& clock) { return saw(clock.now()); }
  Time saw(Time now) {
    if (now - seen_ > kStall && seen_ != Time()) note_stall(now);
    shares_left_ = kShares;
    return seen_ = now;
  }
  /// Time has passed, with work on so many bytes: too much to be left out of account, or not.
  void worked(std::size_t bytes) {
    if (bytes > kQuickBytes) shares_left_ = 0;
  }
  /// The loop is about to wait.
  void rests() { shares_left_ = 0; }
  /// When the loop must look at the clock at the latest; only while it traces.
  Time next_pulse() const { return seen_ + kPulse; }

  /// Null before the first start.
  TraceRing* ring() const { return ring_.get(); }

 private:
  static constexpr unsigned kShares = 8;               // Each some hundred nanoseconds of work.
  static constexpr std::size_t kQuickBytes = 4 << 10;  // Copied or summed in less than that.

  void note_stall(Time now);

  std::atomic<bool> on_{false};
  std::unique_ptr<TraceRing> ring_;
  Time seen_;                 // When the clock was last read in this trace,
  unsigned shares_left_ = 0;  // and for how many moments more that will do.
};

}  // namespace stretto
