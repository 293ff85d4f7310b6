// SPDX-License-Identifier: Apache-2.0
// A node's Van in numbers for metrics: bytes, frames, queue, stalls, breaks.
#pragma once

#include "observe/metrics/snapshots.h"
#include "van/engine/van.h"

namespace stretto {

/// With these labels on each.
metrics::Metrics metrics_of(const Van& van,
                            const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace stretto
