// SPDX-License-Identifier: Apache-2.0
// Names and help texts of a Van's metrics.
#include "van/engine/van_metrics.h"

namespace stretto {

metrics::Metrics metrics_of(const Van& van,
                            const std::vector<std::pair<std::string, std::string>>& labels) {
  using metrics::Type;
  metrics::Metrics made;
  const metrics::Adder add(made, labels);
  const Van::Counters& counters = van.counters();
  add("stretto_bytes_in_total", Type::kCounter, counters.data_bytes_in,
      "Payload bytes of data that have come.");
  add("stretto_bytes_out_total", Type::kCounter, counters.data_bytes_out,
      "Payload bytes of data that have been submitted.");
  add("stretto_frames_in_total", Type::kCounter, counters.frames_in,
      "Frames and slices that have come, control among them.");
  add("stretto_frames_out_total", Type::kCounter, counters.frames_out,
      "Frames and slices that have been submitted, control among them.");
  add("stretto_refused_total", Type::kCounter, counters.refused,
      "Frames and links from outside that were refused.");
  add("stretto_credit_stalls_total", Type::kCounter, counters.stalls,
      "Times that sending ended while frames had to wait for credit.");
  add("stretto_link_breaks_total", Type::kCounter, counters.breaks, "Links that broke.");
  add("stretto_corrupted_frames_total", Type::kCounter, counters.corrupted,
      "Frames that came with a wrong checksum, and were asked for again.");
  add("stretto_links_remade_total", Type::kCounter, counters.mended,
      "Links that broke and were made anew, without a loss.");
  add("stretto_preemptions_total", Type::kCounter, van.trace().preemptions(),
      "Frames that stood still between two slices while others went.");
  add("stretto_under_way_bytes", Type::kGauge, van.queue().windows().in_flight(),
      "Bytes submitted and not yet taken by the far ends.");
  add("stretto_waiting_frames", Type::kGauge, van.queue().waiting(),
      "Frames that wait to be delivered.");
  for (const auto& [priority, count] : van.queue().backlog().waiting_by_priority()) {
    add("stretto_queue_depth", Type::kGauge, count, "Data frames that wait, by priority.");
    made.back().labels.emplace_back("priority", std::to_string(priority));
  }
  return made;
}

}  // namespace stretto
