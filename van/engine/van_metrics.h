// SPDX-License-Identifier: Apache-2.0
// Metrics of a node's Van: bytes, frames, queue, stalls, breaks.
#pragma once

#include "observe/metrics/snapshots.h"
#include "van/engine/van.h"

namespace stretto {

/// Adds these labels to each metric.
metrics::Metrics metrics_of(const Van& van,
                            const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace stretto
