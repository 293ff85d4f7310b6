// SPDX-License-Identifier: Apache-2.0
// The metrics of one shard.
#include "server/monitoring/shard_metrics.h"

#include <string>

#include "van/engine/van_metrics.h"

namespace stretto {

metrics::Metrics shard_metrics(const Van& van, MembershipClient& membership,
                               const OwnedSlots& slots, const StragglerTime& held,
                               std::uint32_t index) {
  using metrics::Type;
  const metrics::Labels labels = {{"role", "server"},
                                  {"rank", std::to_string(membership.number())},
                                  {"shard", std::to_string(index)}};
  metrics::Metrics made = metrics_of(van, labels);
  const metrics::Adder add(made, labels);
  add("stretto_shares_total", Type::kCounter, static_cast<double>(slots.shares()),
      "Shares that have been summed or applied.");
  add("stretto_parts", Type::kGauge, static_cast<double>(slots.parts()), "Parts that live here.");
  add("stretto_parts_bytes", Type::kGauge, static_cast<double>(slots.bytes()),
      "Bytes of the parts that live here, with what their update rules remember, and what "
      "contributions that wait may take.");
  add("stretto_heartbeats_total", Type::kCounter,
      static_cast<double>(membership.heartbeats().sent()), "Heartbeats sent to the scheduler.");
  for (Rank rank = 0; rank < held.workers(); ++rank) {
    add("stretto_rounds_held_seconds_total", Type::kCounter, seconds(held.of(rank)),
        "Time that rounds had waited for this worker's shares when the last one came.");
    made.back().labels.emplace_back("worker", std::to_string(rank));
  }
  return made;
}

}  // namespace stretto
