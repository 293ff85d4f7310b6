// SPDX-License-Identifier: Apache-2.0
// Report: the results of one worker process, sent through a pipe to the benchmark that started it.
// Both ends are the same program, so it is sent as raw memory.
#pragma once

#include <limits.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tools/bench/support/statistics.h"

namespace stretto::bench {

struct Report {
  std::uint32_t rank = 0;
  std::uint32_t port = 0;         ///< Only from servers of the raw exchange: their listening port.
  std::uint32_t fabric_port = 0;  ///< For its own name exchange; 0: none.
  double seconds = 0;             ///< Measured by the worker.
  double gigabytes = 0;           ///< Tensor bytes exchanged in that time.
  double cpu_s = 0;               ///< Of this process, in that time.
  double servers_cpu_s = 0;       ///< Of all servers, in that time; only from rank 0.
  double p50_us = 0;              ///< Single operations, from call to end.
  double p99_us = 0;
  // Only of preempt.
  double p95_us = 0;
  double max_us = 0;
  double answers = 0;             ///< Urgent messages answered in `seconds`.
  double unloaded_p50_us = 0;     ///< Without other traffic.
  double alone_gb_per_s = 0;      ///< The background without urgent messages,
  double alone_cpu_s_per_gb = 0;  ///< and what it costs the sending process.
  double cpu_s_per_gb = 0;        ///< As alone_cpu_s_per_gb, but with them.
  double first_us = 0;            ///< The first urgent message beside the background.
  // Only of replay.
  double transfers = 0;  ///< Of an iteration: a fused group counts once.
  double start_us = 0;   ///< Of an exchange of a few bytes; 0: not measured.
  // Only of recover.
  double at_s = 0;       ///< When `seconds` ended, by the clock of now().
  double written_s = 0;  ///< From the start of a checkpoint until it was complete.
};
static_assert(std::is_trivially_copyable_v<Report>);
static_assert(sizeof(Report) <= PIPE_BUF, "writes of several processes must not mix");

/// The rates of all workers together.
struct Rates {
  double gb_per_s = 0;             ///< Of one worker: mean.
  double worker_cpu_s_per_gb = 0;  ///< Per GB of tensors, counted once at each worker.
  double server_cpu_s_per_gb = 0;  ///< As above, of all servers together.
  double p50_us = 0;               ///< The median worker's,
  double p99_us = 0;               ///< and the slowest's.
};

inline Rates rates_of(std::span<const Report> reports) {
  Rates rates;
  double gigabytes = 0;
  std::vector<double> medians;
  for (const Report& report : reports) {
    rates.gb_per_s += report.gigabytes / report.seconds / static_cast<double>(reports.size());
    rates.worker_cpu_s_per_gb += report.cpu_s;
    rates.server_cpu_s_per_gb += report.servers_cpu_s;
    rates.p99_us = std::max(rates.p99_us, report.p99_us);
    medians.push_back(report.p50_us);
    gigabytes += report.gigabytes;
  }
  rates.worker_cpu_s_per_gb /= gigabytes;
  rates.server_cpu_s_per_gb /= gigabytes;
  rates.p50_us = median_of(std::move(medians));
  return rates;
}

}  // namespace stretto::bench
