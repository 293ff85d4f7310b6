// SPDX-License-Identifier: Apache-2.0
// The numbers that a worker shows.
#pragma once

#include "observe/metrics/board.h"
#include "observe/reported.h"
#include "van/engine/van.h"
#include "van/membership/membership.h"
#include "worker/exchange/exchanges.h"

namespace stretto {

/// What a worker's van, exchange, heartbeats and readers have done, and what its program reports.
metrics::Metrics worker_metrics(const Van& van, const Exchanges& exchange, Rank rank,
                                const Heartbeats& heartbeats, const Reported& reported);

}  // namespace stretto
