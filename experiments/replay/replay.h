// SPDX-License-Identifier: Apache-2.0
// The replay of a model's training iterations over links of a given rate.
#pragma once

#include <span>
#include <string>

#include "experiments/replay/replay_settings.h"
#include "stretto/status.h"
#include "tools/bench/support/output.h"

namespace stretto::bench::experiments {

/// A model's training iterations, with one schedule of its transfers after another.
Status run_replay(const ReplaySettings& settings, Output& output);

/// `worker-role replay FLAG...`, a worker of the job that run_replay starts: reports every measured
/// iteration, its seconds, and in every report the share of all processors that was used (cpu_s;
/// the first worker's has what servers and kernel used) and the sleeps' lateness (p50_us, p99_us)
/// of all of them.
Status run_replay_worker(std::span<const std::string> words);

}  // namespace stretto::bench::experiments
