// SPDX-License-Identifier: Apache-2.0
// The limit of an exchange: what libzmq moves in the same shape without Stretto. As
// many processes and endpoints, one connection for each pair of worker and endpoint, messages of
// the same sizes both ways; but no headers, no tensors, no sums, no copies.
#pragma once

#include <cstdint>

#include "stretto/status.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

struct RawShape {
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;         ///< Endpoints of each server, a thread each.
  std::uint64_t out_bytes = 0;      ///< Of a message from worker to server,
  std::uint64_t back_bytes = 0;     ///< and of its answer; 0 is an empty message.
  std::uint64_t counted_bytes = 0;  ///< Tensor bytes that one message and its answer stand for.
  std::uint64_t messages = 1;       ///< That each worker has in flight in all,
  std::uint64_t messages_each = 1;  ///< and at most with one endpoint.
  std::uint64_t memory_bytes = 0;   ///< Of each worker's tensors: messages are sent from all of it.
  double seconds = 1;
  bool copies = false;  ///< Over nothing: what shared memory costs at least (measure_copies).
};

Result<Rates> measure_raw(const RawShape& shape);

/// The limit of an exchange by shared memory: the copies and sums that it is made of
/// (docs/ARCHITECTURE.md), done by as many processes at once, and nothing else: no frames, no
/// waiting for one another. Each worker copies every part into memory that servers see, and what a
/// server has made of it into its own; each server copies the first share of its parts and adds the
/// others. The rate is that of the time until all have done.
Result<Rates> measure_copies(const RawShape& shape);

}  // namespace stretto::bench
