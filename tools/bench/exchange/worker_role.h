// SPDX-License-Identifier: Apache-2.0
// The role of this program as a worker of a benchmark's cluster: the hidden command `stretto-bench
// worker-role BENCHMARK FLAG...`.
#pragma once

#include <span>
#include <string>

#include "stretto/status.h"
#include "tools/bench/settings/settings.h"

namespace stretto::bench {

/// One worker's task in a benchmark.
struct Task {
  Benchmark benchmark = Benchmark::kIdle;
  std::uint64_t bytes = 0;  ///< Of one tensor.
  std::uint32_t inflight = 1;
  double seconds = 0;
  Exchange exchange = Exchange::kServers;
  int report_descriptor = -1;
  int until_descriptor = -1;  ///< Idle: the worker leaves when this ends.
};

Status run_worker_role(std::span<const std::string> words);

/// push_pull, push, pull: reports once.
Status exchange(const Task& task);

/// `worker-role recover FLAG...`: as its --work says.
Status run_recover_worker(std::span<const std::string> words);

}  // namespace stretto::bench
