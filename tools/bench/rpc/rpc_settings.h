// SPDX-License-Identifier: Apache-2.0
// The command line of `rpc`.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/bench/rpc/calls.h"
#include "tools/bench/support/flags.h"

namespace stretto::bench {

struct RpcSettings {
  std::vector<std::uint64_t> bytes{64, 64 << 10, 1 << 20, 16 << 20};
  std::vector<std::uint64_t> inflight;  ///< For each size; empty: one, and many_calls().
  std::vector<std::string_view> transports{"shm", "tcp", "fabric"};
  bool all_transports = true;  ///< None was named: omits those that this build lacks.
};

/// 64 of small messages, 4 from 1 MiB on.
std::uint32_t many_calls(std::uint64_t bytes);
/// Each size with each number in flight.
std::vector<CallShape> shapes_of(const RpcSettings& settings, double seconds);

std::vector<Flag> rpc_flags(RpcSettings& settings);
/// The checks across several flags.
Status check_rpc(const RpcSettings& settings);

}  // namespace stretto::bench
