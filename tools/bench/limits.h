// SPDX-License-Identifier: Apache-2.0
// limits: what this machine can do without Stretto, to hold Stretto's rates against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

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

std::vector<Limit> memory_limits();
std::vector<Limit> tcp_limits();
std::vector<Limit> zmq_limits();
std::vector<Limit> shm_limits();

}  // namespace stretto::bench
