// SPDX-License-Identifier: Apache-2.0
// One worker of replay: the hidden command `stretto-bench worker-role replay FLAG...`.
#pragma once

#include <span>
#include <string>

#include "stretto/status.h"

namespace stretto::bench {

/// Reports every measured iteration: its seconds, and in every report the share of all processors
/// that was used (cpu_s; the first worker's has what servers and kernel used) and the sleeps'
/// lateness (p50_us, p99_us) of all of them.
Status run_replay_worker(std::span<const std::string> words);

}  // namespace stretto::bench
