// SPDX-License-Identifier: Apache-2.0
// Dead paths are found by their lines, lost frames by the peers' counts.
#include "van/fabric/path_monitor.h"

#include "van/transport/path_liveness.h"

namespace stretto::fabric {
namespace {

// Of what is said to be missing, times the limit for dead paths: large payloads and slow paths have
// it wait behind others.
constexpr int kLostFrames = 3;

}  // namespace

void PathMonitor::look(FabricLinks& links, Bootstrap& exchange, Time now,
                       std::vector<ConnectionEvent>& news) {
  const Time real = clock_.now();
  if (real < next_) return;
  next_ = real + PathLiveness::interval(dead_after_);
  exchange.look_at_paths(real, dead_after_, news);
  for (const auto& [id, link] : links.all()) {
    if (link->retired || !link->may_speak() || !link->ending.ok()) continue;
    if (link->delivery.look(link->counts(), real)) exchange.say(link->line, {true, link->came});
    if (!link->delivery.lost_for(kLostFrames * dead_after_, real)) continue;
    link->end(frames_are_missing(), now);
    links.touch(*link);
  }
}

}  // namespace stretto::fabric
