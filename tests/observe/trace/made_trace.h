// SPDX-License-Identifier: Apache-2.0
// Traces that are made instead of noted: iterations of a job in which every worker computes, pushes
// parts to shards, and waits for their values; with delays where a test wants them.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "observe/trace/timeline.h"

namespace stretto::trace::made {

/// Where time is lost.
enum class Where : std::uint8_t {
  kNowhere,
  kCompute,
  kInput,
  kLink,           ///< All of a worker's,
  kServerLink,     ///< all of a server's,
  kOneLink,        ///< or a worker's to the first server.
  kServer,         ///< A server has taken shares and does nothing with them,
  kBusy,           ///< has others to sum before it takes them,
  kStopped,        ///< or does not run.
  kWorkerStopped,  ///< A worker does not run while values come.
  kCodec,
};

struct Plan {
  std::uint32_t workers = 3;
  std::uint32_t servers = 2;
  std::uint32_t tensors = 4;
  std::uint64_t iterations = 8;
  std::uint64_t seed = 1;
  Where where = Where::kNowhere;
  std::uint32_t who = 0;  ///< Which worker, or which server.
  std::int64_t lost_ns = 50'000'000;
  std::int64_t compute_ns = 5'000'000;
  std::int64_t link_ns = 200'000;  ///< Of a frame, at least; up to as much again at random.
};

/// All clocks agree. Nodes are the servers, from identity 2 on, then the workers.
Trace make(const Plan& plan);
/// A node's place in that trace.
std::size_t place_of_worker(const Plan& plan, std::uint32_t worker);

/// How often a text has another in it.
std::size_t count(const std::string& text, const std::string& what);

}  // namespace stretto::trace::made
