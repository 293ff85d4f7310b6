// SPDX-License-Identifier: Apache-2.0
// limits: what this machine can do without Stretto, to hold Stretto's rates against.
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

/// What is sent to and fro where a round trip is measured.
inline constexpr std::size_t kPingBytes = 64;

/// Something that can be measured again and again.
struct Limit {
  std::string name;
  std::uint64_t bytes = 0;  ///< Handled at a time.
  bool round_trip = false;  ///< The result is in microseconds; otherwise in GB/s.
  std::function<Result<double>(Duration time)> measure;
};

/// Microseconds of round_trip(), which is false if it failed: the median of as many as go into the
/// time. Negative: one failed.
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
