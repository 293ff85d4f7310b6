// SPDX-License-Identifier: Apache-2.0
// The rows of `recover`, and the worker of its jobs.
#pragma once

#include <vector>

#include "tools/bench/exchange/cluster.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/output.h"

namespace stretto::bench {

/// One row. Values that were not measured are null.
Record recover_record(std::string_view name, double seconds, double stall_ms,
                      double throughput_ratio, double disk_ratio);

/// Steps with and without a checkpoint, alternating in one job; then repeated jobs restored from
/// the last checkpoint.
Status measure_checkpoints(const Settings& settings, const Output& output);
/// Seconds from `kill -9` of a server until every worker has ended a step that began later.
Status measure_kills(const Settings& settings, RecoverRow row, const Output& output);

}  // namespace stretto::bench
