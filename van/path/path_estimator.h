// SPDX-License-Identifier: Apache-2.0
// PathEstimator: what is known of the network between this host and a far end: the rate at which
// the far end takes data, and the least round trip.
//
// The kernel measures the round trip of its own packets, which a relay (a proxy, a tunnel) ends.
// What a credit takes longer than a packet at the same time is the rest of the way, and both wait
// in the same queues. So the least round trip is the kernel's, plus the least excess of a credit.
// It holds until all of half a minute were longer by far: where data never stops, each one waited
// in a queue, and a window that followed would make that longer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "van/path/delivery_rate.h"
#include "van/transport/transport.h"

namespace stretto {

/// Thread: loop. Pure.
class PathEstimator {
 public:
  /// Of `sent_bytes` in all, `slice_bytes` have been submitted now. `more`: more waits for this
  /// path.
  void on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool more, Time now);
  /// The far end has taken `taken_bytes` in all.
  void on_credit(std::uint64_t taken_bytes, Time now);
  /// True if the next credit should come with a new measurement of the kernel's.
  bool wants_packets(Time now) const;
  /// The round trips of the kernel's packets; none: the transport has no kernel's connection.
  void note_packets(const std::optional<Transport::RoundTrips>& packets, Time now);

  /// Of what was sent, what has left this host for sure by now: even all that may be queued here
  /// would have been sent since. `window_bytes` may be in flight.
  std::uint64_t departed_bytes(std::uint64_t window_bytes, Time now);
  /// When departed_bytes() will say more without a credit; Time::max(): nothing is in flight.
  Time departs_at() const { return departs_at_; }

  /// What the far end has taken in all.
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  bool is_idle() const { return in_flight_.empty(); }
  /// Bytes a second; 0 if nothing is known yet.
  double rate() const { return rate_.get(); }
  /// Zero if nothing is known yet.
  Duration round_trip() const;

 private:
  struct Slice {
    std::uint64_t end_bytes;  // Sent when it had gone, itself included.
    std::uint64_t bytes;
    Time sent_at;
  };

  void note_round_trip(const Slice& slice, Time now);

  std::deque<Slice> in_flight_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t departed_bytes_ = 0;
  Time departs_at_ = Time::max();
  DeliveryRate rate_{std::chrono::milliseconds(250)};
  Transport::RoundTrips packets_;
  std::optional<Time> asked_at_;
  std::optional<Duration> round_trip_;
  std::optional<Duration> recent_;  // The least since since_.
  Time since_ = {};
};

}  // namespace stretto
