// SPDX-License-Identifier: Apache-2.0
// The search counts requests in flight by Little's law, and rejects unused depth. A consumer that
// decodes its own samples counts as always busy; a pool thread counts as a depth of two.
#include "input/tuning/caller_pool_tuner.h"

#include <algorithm>

namespace stretto::input {

void CallerPoolTuner::measured(Time now, const CallerWindow& window) {
  const auto samples = static_cast<std::int64_t>(std::max<std::uint64_t>(window.samples, 1));
  const Duration busy = threads() == 0 ? window.length / samples : 2 * window.decoding;
  tuner_.measured(now, {.length = window.length,
                        .delivered_bytes = window.samples,
                        .p95_latency = busy,
                        .mean_latency = busy,
                        .consumer_stall = window.stall,
                        .requests = window.samples});
}

// Removes the search's wording about depths from its reasons.
std::string CallerPoolTuner::log() const {
  std::string lines;
  for (Trial trial : tuner_.trials()) {
    const std::size_t colon = trial.reason.rfind(": ");
    if (colon != std::string::npos) trial.reason.erase(0, colon + 2);
    const std::uint32_t threads = threads_of(trial.knobs.depth);
    if (threads > 0) trial.mean_latency /= 2;
    lines += describe_pool(trial, threads);
  }
  return lines;
}

}  // namespace stretto::input
