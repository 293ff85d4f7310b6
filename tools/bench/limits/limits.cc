// SPDX-License-Identifier: Apache-2.0
// Measures all limits alternately, in rounds, so that a disturbance does not affect only one.
#include "tools/bench/limits/limits.h"

#include <fmt/core.h>

#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

Record record_of(const Limit& limit, std::vector<double> results) {
  const Spread spread = spread_of(std::move(results));
  Record record;
  record.text("name", limit.name)
      .count("bytes", limit.bytes)
      .real(limit.round_trip ? "round_trip_us" : "gb_per_s", spread.median)
      .real("min", spread.min)
      .real("max", spread.max);
  return record;
}

}  // namespace

Status run_limits(const Settings& settings, Output& output) {
  std::vector<Limit> limits = memory_limits();
  for (const auto& more : {tcp_limits(), zmq_limits(), shm_limits()}) {
    limits.insert(limits.end(), more.begin(), more.end());
  }
  const auto time = duration_of(settings.seconds);
  std::vector<std::vector<double>> results(limits.size());
  for (std::uint32_t repeat = 0; repeat < settings.repeats; ++repeat) {
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const Result<double> result = limits[i].measure(time);
      if (!result.ok()) return result.status().with_operation(limits[i].name);
      results[i].push_back(*result);
    }
  }
  output.title(
      fmt::format("limits of this machine: medians of {} measurements of {} s, by turns; "
                  "memcpy and sum_f32 with one thread",
                  settings.repeats, settings.seconds));
  output.columns({"name", "bytes", "gb_per_s", "round_trip_us", "min", "max"});
  for (std::size_t i = 0; i < limits.size(); ++i) output.row(record_of(limits[i], results[i]));
  return {};
}

}  // namespace stretto::bench
