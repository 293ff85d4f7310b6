// SPDX-License-Identifier: Apache-2.0
// Within which limits a tuner may turn the knobs, and how it measures.
#pragma once

#include <cstdint>

#include "input/knobs.h"

namespace stretto::input {

struct TunerLimits {
  Knobs least{1, 16 * 1024};
  Knobs most{128, 16 * 1024 * 1024};
  Knobs first{8, 256 * 1024};
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  ///< Of what is in flight.
  Duration p95_latency = Duration::max();  ///< Settings with slower requests are not kept.
  Duration window = 250ms;                 ///< The shortest that is measured.
  Duration longest_window = 10s;
  std::uint32_t probes = 15;  ///< Settings measured in one search, the first one included.
};

/// What may be in flight at once.
constexpr std::uint64_t bytes_in_flight(const Knobs& knobs) {
  return std::uint64_t{knobs.depth} * knobs.read_bytes;
}

}  // namespace stretto::input
