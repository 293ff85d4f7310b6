// SPDX-License-Identifier: Apache-2.0
// The metrics that a shard exports.
#pragma once

#include "observe/metrics/snapshots.h"
#include "server/monitoring/straggler_time.h"
#include "server/storage/owned_slots.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// `index` is the shard's. Thread: the shard's loop.
metrics::Metrics shard_metrics(const Van& van, MembershipClient& membership,
                               const OwnedSlots& slots, const StragglerTime& held,
                               std::uint32_t index);

}  // namespace stretto
