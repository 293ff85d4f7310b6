// SPDX-License-Identifier: Apache-2.0
// ReturnDelay: how long credits queue on their way back. Where two hosts send to each other, a
// credit queues behind its sender's data. A window without this time is exhausted early, and the
// uplink is idle until the credit arrives.
//
// Clocks of two hosts differ by an unknown offset. So a delay counts by its excess over the least
// of the last minute (RFC 6817, LEDBAT).
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"

namespace stretto {

/// Thread: loop. Pure.
class ReturnDelay {
 public:
  /// A credit arrived that left at `sent_us` of the peer's clock, in microseconds modulo 2^32.
  void note(std::uint32_t sent_us, Time now);
  /// Zero: unknown.
  Duration get() const { return queued_; }

 private:
  std::optional<std::uint32_t> first_;  // Other delays are relative to it.
  std::int64_t least_us_ = 0;           // Of this interval,
  std::int64_t least_before_us_ = 0;    // and of the previous one.
  Time since_ = {};
  Duration queued_{};
};

/// The argument of the peer's ReturnDelay::note(); never 0.
std::uint32_t sent_us(Time now);

}  // namespace stretto
