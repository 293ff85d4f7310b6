// SPDX-License-Identifier: Apache-2.0
// The replay of a model's training iterations over links of a given rate.
#pragma once

#include <span>
#include <string>

#include "experiments/replay/replay_settings.h"
#include "stretto/status.h"
#include "tools/bench/support/output.h"

namespace stretto::bench::experiments {

/// Replays a model's training iterations under one schedule of transfers after another.
Status run_replay(const ReplaySettings& settings, Output& output);

/// `worker-role replay FLAG...`, a worker of the job that run_replay starts. It reports the seconds
/// of every measured iteration. Each report also has the used fraction of all processors (cpu_s;
/// the first worker includes servers and kernel) and the sleeps' lateness (p50_us, p99_us) of the
/// whole run.
Status run_replay_worker(std::span<const std::string> words);

}  // namespace stretto::bench::experiments
