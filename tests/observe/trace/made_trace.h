// SPDX-License-Identifier: Apache-2.0
// Synthetic traces: iterations of a job in which every worker computes, pushes parts to shards, and
// waits for their values; with delays where a test wants them.
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
  kLink,           ///< All links of a worker,
  kServerLink,     ///< or of a server,
  kOneLink,        ///< or one from a worker to the first server.
  kServer,         ///< A server has taken contributions and idles,
  kBusy,           ///< or sums others before it takes them,
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
  std::int64_t link_ns = 200'000;  ///< Minimum time of a frame; at random up to twice that.
};

/// All clocks are equal. Nodes are the servers, from member id 2 on, then the workers.
Trace make(const Plan& plan);
/// A worker's index among the nodes of that trace.
std::size_t place_of_worker(const Plan& plan, std::uint32_t worker);

/// How often `what` occurs in `text`.
std::size_t count(const std::string& text, const std::string& what);

}  // namespace stretto::trace::made
