// SPDX-License-Identifier: Apache-2.0
// The benchmarks of `stretto-bench NAME`; docs/BENCHMARKS.md gives their purposes.
#pragma once

#include "stretto/status.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/output.h"

namespace stretto::bench {

/// The limits of this machine without Stretto, as a reference for Stretto's rates.
Status run_limits(const Settings& settings, Output& output);
/// push_pull, push and pull: Stretto and its limit, alternating.
Status run_exchange(const Settings& settings, Output& output);
/// The cost of every process of an idle job.
Status run_idle(const Settings& settings, Output& output);
/// The latency of an urgent message during a large transfer on one shaped link.
Status run_preempt(const Settings& settings, Output& output);
/// The cost of encoding, and of decoding with addition, for one thread.
Status run_codec(const Settings& settings, Output& output);
/// The cost of a call between two processes, beside its lower bounds and gRPC's.
Status run_rpc(const Settings& settings, Output& output);
/// The cost of choosing the next slice from the send queue, and of changing priorities.
Status run_queue(const Settings& settings, Output& output);
/// The cost of fault tolerance: checkpoints, standby servers, encryption, and the time lost when a
/// server is killed.
Status run_recover(const Settings& settings, Output& output);

}  // namespace stretto::bench
