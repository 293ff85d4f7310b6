// SPDX-License-Identifier: Apache-2.0
// Names and descriptions of a worker's metrics.
#include "worker/monitoring/worker_metrics.h"

#include "van/engine/van_metrics.h"

namespace stretto {

metrics::Metrics worker_metrics(const Van& van, const ExchangeDispatcher& exchange, Rank rank,
                                const Heartbeats& heartbeats, const UserMetricValues& reported) {
  using metrics::Type;
  const metrics::Labels labels = {{"role", "worker"}, {"rank", std::to_string(rank)}};
  metrics::Metrics made = metrics_of(van, labels);
  const metrics::Adder add(made, labels);
  const ExchangeProgress& progress = exchange.progress();
  add("stretto_rounds_total", Type::kCounter, progress.most_rounds,
      "Rounds that this worker has pushed, of the tensor with most.");
  add("stretto_parts_total", Type::kCounter, progress.staleness.count,
      "Values of parts that have come.");
  add("stretto_not_finite_total", Type::kCounter, progress.not_finite,
      "Contributions of this worker with elements that are NaN or infinite, of tensors that are "
      "looked at.");
  add("stretto_operations_under_way", Type::kGauge, exchange.operations().count(),
      "Operations that have begun and not ended.");
  add("stretto_heartbeats_total", Type::kCounter, heartbeats.sent(),
      "Heartbeats sent to the scheduler.");
  add("stretto_staleness", Type::kHistogram, progress.staleness.sum,
      "Updates of others between two values of a part.");
  made.back().buckets = progress.staleness.buckets();
  if (const auto& input = heartbeats.progress().input) {
    add("stretto_input_delivered_bytes_total", Type::kCounter, input->delivered_bytes,
        "What the readers of this process have delivered.");
    add("stretto_input_stall_seconds_total", Type::kCounter,
        std::chrono::duration<double>(input->stall).count(),
        "Time in which the program waited for them.");
  }
  for (const auto& [name, value] : reported) {
    add("stretto_reported", Type::kGauge, value, "What the program last reported by this name.");
    made.back().labels.emplace_back("name", name);
  }
  return made;
}

}  // namespace stretto
