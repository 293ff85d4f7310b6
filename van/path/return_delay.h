// SPDX-License-Identifier: Apache-2.0
// ReturnDelay: how long credits wait in queues on their way back. Where two hosts send to each
// other, a credit waits behind the data that its sender sends: a window that leaves this time out
// is used up early, and the uplink is idle until the credit is there.
//
// Clocks of two hosts differ by an unknown amount, so a delay counts by how much it exceeds the
// least of the last minute (RFC 6817, LEDBAT).
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"

namespace stretto {

/// Thread: loop. Pure.
class ReturnDelay {
 public:
  /// A credit has come that left at `sent_us` of the far end's clock, in microseconds modulo 2^32.
  void note(std::uint32_t sent_us, Time now);
  /// Zero if nothing is known.
  Duration get() const { return queued_; }

 private:
  std::optional<std::uint32_t> first_;  // Other delays are relative to it.
  std::int64_t least_us_ = 0;           // Of this interval,
  std::int64_t least_before_us_ = 0;    // and of the last one.
  Time since_ = {};
  Duration queued_{};
};

/// What ReturnDelay::note() takes at the far end; never 0.
std::uint32_t sent_us(Time now);

}  // namespace stretto
