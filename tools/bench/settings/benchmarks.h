// SPDX-License-Identifier: Apache-2.0
// What `stretto-bench NAME` runs; docs/BENCHMARKS.md says what each of them is for.
#pragma once

#include "stretto/status.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/output.h"

namespace stretto::bench {

/// What this machine can do without Stretto, to hold Stretto's rates against.
Status run_limits(const Settings& settings, Output& output);
/// push_pull, push and pull: Stretto and its limit, by turns.
Status run_exchange(const Settings& settings, Output& output);
/// What every process of a job costs while nobody exchanges anything.
Status run_idle(const Settings& settings, Output& output);
/// How long an urgent message takes beside a large transfer on one shaped link.
Status run_preempt(const Settings& settings, Output& output);
/// What encoding, and decoding with adding, costs one thread.
Status run_codec(const Settings& settings, Output& output);
/// What a call costs from one process to another, beside what it costs at least, and gRPC's.
Status run_rpc(const Settings& settings, Output& output);
/// What choosing the next slice costs the send queue, and steering what waits.
Status run_queue(const Settings& settings, Output& output);
/// What it costs not to lose anything: checkpoints, servers that stand by, encryption, and the time
/// that a killed server costs.
Status run_recover(const Settings& settings, Output& output);

}  // namespace stretto::bench
