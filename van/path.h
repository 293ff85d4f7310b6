// SPDX-License-Identifier: Apache-2.0
// Path: what is known of the way to a far end: its rate, its least round trip, and so how much may
// be in flight (window) and in what slices (quantum). The estimate is that of BBR (Cardwell et al.,
// ACM Queue 14(5), 2016): the greatest delivery rate and the least round trip of late, each seen
// when the other is not in the way. What it is used for is ours: a slice takes about a seventh of a
// millisecond, and the window is what keeps the path busy, not more, since an urgent frame waits
// for all of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "common/greatest.h"
#include "stretto/types.h"

namespace stretto {

/// What windows are made of, summed over paths. Thread: any (a value).
struct PathSums {
  double rate = 0;  ///< Bytes a second.
  std::uint64_t product_bytes = 0;
  std::uint64_t late_bytes = 0;
  std::uint64_t bulk_late_bytes = 0;

  PathSums& operator+=(const PathSums& other) {
    rate += other.rate;
    product_bytes += other.product_bytes;
    late_bytes += other.late_bytes;
    bulk_late_bytes += other.bulk_late_bytes;
    return *this;
  }
};

/// Thread: loop. Pure: told of what was sent and credited, it answers.
class Path {
 public:
  /// `slice_bytes` have been submitted now; `sent_bytes` is that and all before. `alone`: nothing
  /// else is on the way out of this host. `more`: the queue has more for this path, so that it is
  /// the path that sets the pace.
  void on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool alone, bool more,
               Time now);
  /// The far end has taken so much in all.
  void on_credit(std::uint64_t taken_bytes, Time now);
  /// The far end tells the least round trip that it has seen itself; zero: none. It is the same
  /// way, so the lesser of the two holds: who probes while the other's slices fill the way back
  /// sees their queue too, and would take more of the way than its half.
  void on_far_round_trip(Duration seen) { far_round_trip_ = seen; }

  /// How long the loops at both ends wait for a processor when they do: so much later credits come,
  /// and nobody else's bytes are in the way meanwhile.
  void on_waits(Duration seen) { waits_ = seen; }

  /// The next slice should be small and alone, to see the round trip.
  bool wants_probe(Time now) const;
  /// It could not be: another time.
  void give_up_probe(Time now) { probed_at_ = now; }
  /// Bytes that may be in flight, and bytes of a slice.
  std::uint64_t window_bytes() const;
  std::uint64_t quantum_bytes() const;
  /// The same for bulk, for which an urgent frame may wait some milliseconds: so much that neither
  /// late credits nor loops that share processors with programs that compute let the path run dry,
  /// in slices for which there is little to do.
  std::uint64_t bulk_window_bytes() const;
  std::uint64_t bulk_quantum_bytes() const;
  /// What a window is made of: that which travels, and that which makes up for late credits.
  std::uint64_t product_bytes() const;
  std::uint64_t late_bytes() const;
  std::uint64_t bulk_late_bytes() const;
  PathSums sums() const { return {rate(), product_bytes(), late_bytes(), bulk_late_bytes()}; }
  static std::uint64_t window_bytes(std::uint64_t quantum, std::uint64_t product,
                                    std::uint64_t late);
  /// Of a path of so many bytes a second; 0: not known.
  static std::uint64_t quantum_bytes(double rate);
  static std::uint64_t bulk_quantum_bytes(double rate);
  /// Of what was sent, what has left this host for sure by now: even all that may be queued here
  /// would have been sent since.
  std::uint64_t departed_bytes(Time now);
  /// True if the far end should be asked to tell of this slice at once.
  bool wants_credit(std::uint64_t sent_bytes);

  /// What the far end has taken in all.
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  /// Bytes a second; 0 if nothing is known yet.
  double rate() const { return rate_.get(); }
  /// The least of late, ours or the far end's. Zero if nothing is known yet.
  Duration round_trip() const;
  /// Of our own probes alone: what the far end is told.
  Duration own_round_trip() const { return round_trip_; }

  /// A slice for finding the round trip is no larger.
  static constexpr std::uint64_t kProbeBytes = 4096;
  /// With what may go with it, and its header.
  static constexpr std::uint64_t kMostOfProbe = kProbeBytes / 4 * 5 + 128;

 private:
  struct Slice {
    std::uint64_t end_bytes;  // Sent when it had gone, itself included.
    Time sent_at;
    bool probe;  // It went alone and was small.
  };

  void begin_interval(Time now);
  void note_round_trip(Duration seen, Time now);

  std::deque<Slice> in_flight_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t departed_bytes_ = 0;
  std::uint64_t asked_bytes_ = 0;
  // The interval over which the rate is seen.
  Time interval_since_ = {};
  Time idle_since_ = {};              // Nothing has been in flight since.
  std::uint64_t interval_bytes_ = 0;  // Taken when it began.
  bool interval_busy_ = true;         // More was waiting all the time.
  Greatest rate_{std::chrono::milliseconds(100)};
  Duration round_trip_{};       // The least of late,
  Duration far_round_trip_{};   // and the far end's.
  Duration waits_{};            // Of the loops at both ends.
  Duration next_round_trip_{};  // The least since next_since_.
  std::optional<Time> probed_at_;
  Time next_since_ = {};
};

}  // namespace stretto
