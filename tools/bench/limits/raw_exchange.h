// SPDX-License-Identifier: Apache-2.0
// The limit of an exchange: what libzmq moves in the same shape without Stretto. The same processes
// and endpoints, one connection for each pair of worker and endpoint, the same message sizes both
// ways; but no headers, tensors, sums or copies.
#pragma once

#include <cstdint>

#include "stretto/status.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

struct RawShape {
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;         ///< Endpoints of each server, one thread each.
  std::uint64_t out_bytes = 0;      ///< A message from worker to server,
  std::uint64_t back_bytes = 0;     ///< and its answer; 0 is an empty message.
  std::uint64_t counted_bytes = 0;  ///< Tensor bytes that one message and its answer stand for.
  std::uint64_t messages = 1;       ///< In flight for each worker in total,
  std::uint64_t messages_each = 1;  ///< and at most with one endpoint.
  std::uint64_t memory_bytes = 0;   ///< Of each worker's tensors: messages are sent from all of it.
  double seconds = 1;
  bool copies = false;  ///< No transport: the minimal cost of shared memory (measure_copies).
};

Result<Rates> measure_raw(const RawShape& shape);

/// The limit of an exchange by shared memory: only its copies and sums (docs/ARCHITECTURE.md), by
/// the same number of processes, without frames or waits. Each worker copies every part into shared
/// memory, and each result into its own. Each server copies the first contribution to its parts and
/// adds the others. The rate is that of the slowest process.
Result<Rates> measure_copies(const RawShape& shape);

}  // namespace stretto::bench
