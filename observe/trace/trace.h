// SPDX-License-Identifier: Apache-2.0
// Trace records of a loop: fixed-size records in a ring of its own. Another thread may read them
// without a lock; a full ring drops records and counts them.
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

/// Kinds of events. The numbers are the wire's and the files'.
enum class TraceKind : std::uint8_t {
  kCompute = 1,    ///< The user's computation, if recorded.
  kQueueWait = 2,  ///< A frame waited in the send queue.
  kSend = 3,       ///< From its first slice to its last, submitted.
  kReceive = 4,    ///< From its first slice to its last, received.
  kSum = 5,        ///< A contribution was added to a round.
  kUpdate = 6,     ///< The rule was applied to a contribution, or to a sum with the last one.
  kPullWait = 7,   ///< The user waited for an operation.
  kStage = 8,      ///< Bytes were copied to or from a device.
  kCodec = 9,      ///< Bytes were encoded or decoded.
  kInput = 10,     ///< The user read input.
  kPreempt = 11,   ///< A frame paused between two slices while others were sent.
  kResume = 12,    ///< It continued: a point in time.
  kExchange = 13,  ///< An operation, from the user's call to its end.
  kStall = 14,     ///< The loop was blocked: its process did not run, or one iteration took long.
  kTraced = 15,    ///< The time in which the node traced.
};
inline constexpr std::uint8_t kTraceKinds = 15;

/// "queue_wait" and so on; empty if unknown.
std::string_view name_of(TraceKind kind);
/// The kind of that name; number 0, which is unused, if unknown.
TraceKind trace_kind_from(std::string_view name);

/// One span.
struct TraceRecord {
  std::int64_t begin_ns = 0;  ///< By the recording node's clock.
  std::int64_t end_ns = 0;
  std::uint64_t round = 0;  ///< The worker's, of this part. Worker, part and round link spans.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint32_t bytes = 0;
  std::uint32_t peer = 0;  ///< The peer's node; of a sum, the worker that contributed.
  std::int32_t priority = 0;
  TraceKind kind = TraceKind::kCompute;
  std::uint8_t frame = 0;  ///< The frame's kind on the wire; 0: no frame.
  std::uint16_t reserved = 0;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) == 48);

/// One entry of the ring: a span, and its predecessor if that belongs to the same object, since
/// size determines the cost. It has the same layout on the wire and in files; trace::unfold
/// converts it to spans.
struct TraceNote {
  TraceRecord span;
  /// Start of the predecessor; 0: none. A sent frame was queued since then; a summed contribution
  /// was arriving; of an exchange, the user waited for its end.
  std::int64_t since_ns = 0;
};
static_assert(sizeof(TraceNote) == 56 && std::is_trivially_copyable_v<TraceNote>);

/// Nanoseconds of a point in time, as in records.
inline std::int64_t trace_time(Time time) { return time.time_since_epoch().count(); }

/// Thread: one puts, one takes, neither waits for the other.
class TraceRing {
 public:
  /// Capacity of at least `notes`, at most kMostNotes. Unused memory is not touched.
  explicit TraceRing(std::size_t notes);
  static constexpr std::size_t kMostNotes = std::size_t{1} << 22;

  /// For the writing thread. A note without room is dropped and counted.
  void put(const TraceNote& note) {
    const std::uint64_t at = put_.load(std::memory_order_relaxed);
    if (at - taken_.load(std::memory_order_acquire) > mask_) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    std::memcpy(place(at), &note, sizeof note);
    put_.store(at + 1, std::memory_order_release);
  }
  /// For the reading thread: contiguous notes, oldest first; empty if there are none.
  std::span<const TraceNote> look() const;
  /// For the reading thread: frees the oldest `notes` after look().
  void release(std::size_t notes) {
    taken_.store(taken_.load(std::memory_order_relaxed) + notes, std::memory_order_release);
  }
  /// Total so far. Thread: any.
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

/// A loop's trace switch and ring, passed down to the loop's objects. While tracing, the loop reads
/// the clock at least every kPulse; a gap above kStall is recorded as one span. From outside, a
/// process without a processor looks idle.
/// Thread: loop, but for on().
class Tracer {
 public:
  static constexpr Duration kPulse = std::chrono::milliseconds(10);
  /// A transport may wait up to twice its timeout.
  static constexpr Duration kStall = 4 * kPulse;

  /// The only cost of a span while tracing is off. Thread: any.
  bool on() const { return on_.load(std::memory_order_relaxed); }

  /// Starts recording. The first start allocates the ring, which is kept.
  void start(std::size_t notes);
  void stop() { on_.store(false, std::memory_order_relaxed); }

  void note(const TraceNote& note) {
    if (on()) ring_->put(note);
  }
  void note(const TraceRecord& span) { note(TraceNote{span, 0}); }

  /// Now. While tracing, nearby calls share one reading of the clock, which is most of a note's
  /// cost.
  Time now(const Clock& clock) {
    if (!on()) return clock.now();
    if (shares_left_ == 0) return read(clock);
    --shares_left_;
    return seen_;
  }
  /// Now, to the nanosecond; directly following calls may share it.
  Time read(const Clock& clock) { return saw(clock.now()); }
  Time saw(Time now) {
    if (now - seen_ > kStall && seen_ != Time()) note_stall(now);
    shares_left_ = kShares;
    return seen_ = now;
  }
  /// Work on `bytes` has passed: if that took long, the next call reads the clock.
  void worked(std::size_t bytes) {
    if (bytes > kQuickBytes) shares_left_ = 0;
  }
  /// The loop is about to wait.
  void rests() { shares_left_ = 0; }
  /// When the loop must read the clock at the latest; only while tracing.
  Time next_pulse() const { return seen_ + kPulse; }

  /// Null before the first start.
  TraceRing* ring() const { return ring_.get(); }

 private:
  static constexpr unsigned kShares = 8;               // Each some hundred nanoseconds of work.
  static constexpr std::size_t kQuickBytes = 4 << 10;  // Bytes copied or summed in less than that.

  void note_stall(Time now);

  std::atomic<bool> on_{false};
  std::unique_ptr<TraceRing> ring_;
  Time seen_;                 // When the clock was last read in this trace,
  unsigned shares_left_ = 0;  // and the number of calls that may still share it.
};

}  // namespace stretto
