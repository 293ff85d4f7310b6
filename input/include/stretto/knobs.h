// SPDX-License-Identifier: Apache-2.0
// What of a reader can be turned while it runs, and what is measured to turn it by.
// Public: installed with the reader.
#pragma once

#include <cstdint>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::input {

/// How many requests are under way at once, and how many bytes each of them wants at most.
struct Knobs {
  std::uint32_t depth;
  std::uint32_t read_bytes;
  bool operator==(const Knobs&) const = default;
};

/// What a reader did in a stretch of time.
struct Window {
  Duration length;
  std::uint64_t delivered_bytes;  ///< Payload that the consumer has taken.
  Duration p95_latency;           ///< Of requests, from handing over to the end.
  Duration mean_latency;
  Duration consumer_stall;  ///< How long the consumer waited for a sample.
  std::uint64_t requests;   ///< That ended.
};

}  // namespace stretto::input
#pragma GCC visibility pop
