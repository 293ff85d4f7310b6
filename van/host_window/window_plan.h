// SPDX-License-Identifier: Apache-2.0
// Window plan: from what is known of a path, or of all paths out of a host, to how much may be in
// flight and in what slices. In latency mode an urgent frame waits for one slice of a seventh of a
// millisecond and a window of two; in throughput mode for three milliseconds, which cost a third of
// the work and bridge late credits.
//
// Where two hosts send to each other, the sums of the windows in both directions should be equal:
// with unequal windows the direction of the lesser one is idle for a part of the time (Zhang,
// Shenker and Clark, SIGCOMM 1991). So windows follow measured rates and the receiver's grants, and
// no least size is granted to each of many senders.
#pragma once

#include <cstdint>

#include "van/queue/link_window.h"

namespace stretto {

/// What windows are made of. Those of several senders on one uplink add up. Thread: any (a value).
struct PathEstimate {
  double rate = 0;                  ///< Bytes a second; 0: not known.
  std::uint64_t product_bytes = 0;  ///< Rate times least round trip, with room to grow.
  std::uint64_t wait_bytes = 0;     ///< Rate times how long loops wait for processors.
  /// Rate times how long credits wait behind data on their way back.
  std::uint64_t queue_bytes = 0;

  PathEstimate& operator+=(const PathEstimate& other) {
    rate += other.rate;
    product_bytes += other.product_bytes;
    wait_bytes += other.wait_bytes;
    queue_bytes += other.queue_bytes;
    return *this;
  }
};

/// `queued`: how long credits wait behind data on their way back. `waits`: how long the loops at
/// both ends wait for a processor when they do: credits come so much later.
PathEstimate estimate(double rate, Duration round_trip, Duration queued, Duration waits);
/// Credits that wait count nothing here: both directions would make up for each other's queue.
WindowLimits latency_bounds(const PathEstimate& path);
/// `granted`: what the receiver grants, in bytes of queue, to which what the sender has on the way
/// without a queue comes; 0: the sender shares it with no other.
WindowLimits throughput_bounds(const PathEstimate& path, std::uint64_t granted);
/// A receiver has so many senders and takes so many bytes a second: what it grants to each.
std::uint64_t granted_window(double rate, std::size_t senders);
/// Latency bounds of a sender that was granted so much.
WindowLimits limit_latency(WindowLimits bounds, std::uint64_t granted, const PathEstimate& path);

}  // namespace stretto
