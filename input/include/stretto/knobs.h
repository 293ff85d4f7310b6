// SPDX-License-Identifier: Apache-2.0
// Knobs: what can be changed of a reader while it runs, and Window: what is measured to decide
// that. By Little's law the bytes in flight (depth times read_bytes at most) are the rate times the
// latency: too few leave the device idle, more than enough only take memory and lengthen the queue.
// docs/INPUT_TUNING.md says how the reader's own tuner decides. Public: installed with the reader.
#pragma once

#include <cstdint>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::input {

/// How much a reader asks of the device at once. Thread: any (a value).
struct Knobs {
  std::uint32_t depth;       ///< Requests in flight, 1 to 256.
  std::uint32_t read_bytes;  ///< Of one request at most: 4 KiB to 64 MiB, a multiple of 4 KiB.
  bool operator==(const Knobs&) const = default;
};

/// What a reader did in an interval of time. Rate: delivered_bytes / length. If consumer_stall is 0
/// the program, and not the input, is the bottleneck. Thread: any (a value).
struct Window {
  Duration length;                ///< Of the interval.
  std::uint64_t delivered_bytes;  ///< Payload that the consumer has taken.
  Duration p95_latency;           ///< Of requests, from submission to completion.
  Duration mean_latency;
  Duration consumer_stall;  ///< How long the consumer waited for a sample.
  std::uint64_t requests;   ///< That completed in the interval.
};

}  // namespace stretto::input
#pragma GCC visibility pop
