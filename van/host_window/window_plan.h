// SPDX-License-Identifier: Apache-2.0
// Window plan: computes windows and slices from a path, or from all paths out of a host. In latency
// mode an urgent frame waits for one slice of a seventh of a millisecond, and a window of two. In
// throughput mode it waits for three milliseconds; that costs a third of the work and bridges late
// credits.
//
// Where two hosts send to each other, the sums of the windows in both directions should be equal:
// with unequal windows the direction of the lesser one is idle part of the time (Zhang, Shenker and
// Clark, SIGCOMM 1991). So windows follow measured rates and the receiver's grants, and many
// senders get no minimum each.
#pragma once

#include <cstdint>

#include "van/queue/link_window.h"

namespace stretto {

/// Inputs of a window. Those of several senders on one uplink add up. Thread: any (a value).
struct PathEstimate {
  double rate = 0;                  ///< Bytes a second; 0: unknown.
  std::uint64_t product_bytes = 0;  ///< Rate times least round trip, with room to grow.
  std::uint64_t wait_bytes = 0;     ///< Rate times the loops' scheduling delay.
  /// Rate times the time that credits queue behind data on their way back.
  std::uint64_t queue_bytes = 0;

  PathEstimate& operator+=(const PathEstimate& other) {
    rate += other.rate;
    product_bytes += other.product_bytes;
    wait_bytes += other.wait_bytes;
    queue_bytes += other.queue_bytes;
    return *this;
  }
};

/// `queued`: time that credits queue behind data on their way back. `waits`: scheduling delay of
/// the loops at both ends, which delays credits as well.
PathEstimate estimate(double rate, Duration round_trip, Duration queued, Duration waits);
/// Omits queued credits: both directions would compensate for each other's queue.
WindowLimits latency_bounds(const PathEstimate& path);
/// `granted`: the receiver's grant, in bytes of queue, plus the sender's bytes in transit without a
/// queue; 0: the sender shares the receiver with no other.
WindowLimits throughput_bounds(const PathEstimate& path, std::uint64_t granted);
/// Grant to each of `senders` of a receiver that takes `rate` bytes a second.
std::uint64_t granted_window(double rate, std::size_t senders);
/// Latency bounds under a grant.
WindowLimits limit_latency(WindowLimits bounds, std::uint64_t granted, const PathEstimate& path);

}  // namespace stretto
