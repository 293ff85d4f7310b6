// SPDX-License-Identifier: Apache-2.0
// PathEstimator: estimates the network between this host and a peer: the rate at which the peer
// takes data, and the least round trip.
//
// The kernel measures the round trip of its own packets, which ends at a relay (a proxy, a tunnel).
// The excess of a credit over a packet at the same time is the rest of the path; both wait in the
// same queues. So the least round trip is the kernel's, plus the least excess of a credit. It is
// replaced only if all of half a minute were much longer: with continuous data each one waited in a
// queue, and a window that followed would lengthen that queue.
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
  /// `slice_bytes` were submitted, `sent_bytes` in all. `more`: more data waits for this path.
  void on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool more, Time now);
  /// The peer has taken `taken_bytes` in all.
  void on_credit(std::uint64_t taken_bytes, Time now);
  /// True if the next credit needs a new measurement by the kernel.
  bool wants_packets(Time now) const;
  /// The kernel's round trips; none: the transport has no kernel connection.
  void note_packets(const std::optional<Transport::RoundTrips>& packets, Time now);

  /// Sent bytes that have certainly left this host: even all that may be queued here would have
  /// been sent since. `window_bytes` may be in flight.
  std::uint64_t departed_bytes(std::uint64_t window_bytes, Time now);
  /// When departed_bytes() will grow without a credit; Time::max(): nothing is in flight.
  Time departs_at() const { return departs_at_; }

  /// Total that the peer has taken.
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  bool is_idle() const { return in_flight_.empty(); }
  /// Bytes a second; 0: unknown.
  double rate() const { return rate_.get(); }
  /// Zero: unknown.
  Duration round_trip() const;

 private:
  struct Slice {
    std::uint64_t end_bytes;  // Total sent, including this slice.
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
