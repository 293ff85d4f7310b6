// SPDX-License-Identifier: Apache-2.0
// The board's one lock.
#include "observe/metrics/snapshots.h"

#include "common/memory.h"

namespace stretto::metrics {

void MetricsSnapshots::put(std::size_t source, Metrics metrics) {
  MutexLock lock(mutex_);
  by_source_[source] = std::move(metrics);
}

Metrics MetricsSnapshots::all() {
  Metrics all;
  {
    MutexLock lock(mutex_);
    for (const auto& [source, metrics] : by_source_) {
      all.insert(all.end(), metrics.begin(), metrics.end());
    }
  }
  Adder(all, {})("stretto_memory_bytes", Type::kGauge, resident_bytes(),
                 "Memory of this process that is resident.");
  return all;
}

}  // namespace stretto::metrics
