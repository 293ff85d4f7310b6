// SPDX-License-Identifier: Apache-2.0
// limits: the rates of this machine without Stretto, as a reference for Stretto's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {

/// The message size of a round trip.
inline constexpr std::size_t kPingBytes = 64;

/// A repeatable measurement.
struct Limit {
  std::string name;
  std::uint64_t bytes = 0;  ///< Handled per operation.
  bool round_trip = false;  ///< The result is in microseconds; otherwise in GB/s.
  std::function<Result<double>(Duration time)> measure;
};

/// The median microseconds of round_trip(), called repeatedly for `time`. Negative: a call returned
/// false.
template <typename RoundTrip>
double median_round_trip_us(Duration time, RoundTrip round_trip) {
  std::vector<double> microseconds;
  for (const Time start = now(); now() - start < time;) {
    const Time sent = now();
    if (!round_trip()) return -1;
    microseconds.push_back(1e6 * seconds(now() - sent));
  }
  return median_of(std::move(microseconds));
}

std::vector<Limit> memory_limits();
std::vector<Limit> tcp_limits();
std::vector<Limit> zmq_limits();
std::vector<Limit> shm_limits();

}  // namespace stretto::bench
