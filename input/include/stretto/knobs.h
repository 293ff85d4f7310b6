// SPDX-License-Identifier: Apache-2.0
// Knobs: the settings of a reader that can change while it runs. Window: the measurements for such
// a change. By Little's law the bytes in flight (at most depth times read_bytes) are the rate times
// the latency. Too few leave the device idle; more than enough only take memory and lengthen the
// queue. docs/INPUT_TUNING.md describes the reader's tuner. Public: installed with the reader.
#pragma once

#include <cstdint>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::input {

/// How much a reader requests from the device at once. Thread: any (a value).
struct Knobs {
  std::uint32_t depth;       ///< Requests in flight, 1 to 256.
  std::uint32_t read_bytes;  ///< Of one request, at most: 4 KiB to 64 MiB, a multiple of 4 KiB.
  bool operator==(const Knobs&) const = default;
};

/// A reader's measurements over a time interval. Rate: delivered_bytes / length. If consumer_stall
/// is 0, the program is the bottleneck and not the input. Thread: any (a value).
struct Window {
  Duration length;                ///< Of the interval.
  std::uint64_t delivered_bytes;  ///< Payload that the consumer has taken.
  Duration p95_latency;           ///< Of requests, from submission to completion.
  Duration mean_latency;
  Duration consumer_stall;  ///< How long the consumer waited for a sample.
  std::uint64_t requests;   ///< Requests completed in the interval.
};

}  // namespace stretto::input
#pragma GCC visibility pop
