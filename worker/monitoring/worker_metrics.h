// SPDX-License-Identifier: Apache-2.0
// The metrics that a worker exports.
#pragma once

#include "observe/metrics/snapshots.h"
#include "observe/user_metrics.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"
#include "worker/exchange/exchange_dispatcher.h"

namespace stretto {

/// What a worker's van, exchange, heartbeats and readers have done, and what its program reports.
metrics::Metrics worker_metrics(const Van& van, const ExchangeDispatcher& exchange, Rank rank,
                                const Heartbeats& heartbeats, const UserMetricValues& reported);

}  // namespace stretto
