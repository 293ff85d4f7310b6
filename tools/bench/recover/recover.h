// SPDX-License-Identifier: Apache-2.0
// The rows of `recover`, and what it runs as a worker of its jobs.
#pragma once

#include <vector>

#include "tools/bench/exchange/cluster.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/output.h"

namespace stretto::bench {

/// One row. What was not measured is null.
Record recover_record(std::string_view name, double seconds, double stall_ms,
                      double throughput_ratio, double disk_ratio);

/// Steps with a checkpoint and without one, by turns in one job; then a job that goes on from the
/// last one, again and again.
Status measure_checkpoints(const Settings& settings, const Output& output);
/// Seconds from `kill -9` of a server until every worker has ended a step begun since.
Status measure_kills(const Settings& settings, RecoverRow row, const Output& output);

}  // namespace stretto::bench
