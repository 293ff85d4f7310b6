// SPDX-License-Identifier: Apache-2.0
// Paused workers, by barrier numbers.
#include "server/sessions/paused_workers.h"

#include <fmt/core.h>

#include <algorithm>

#include "server/monitoring/stalled_rounds.h"

namespace stretto {

void PausedWorkers::note(NodeId worker, const control::SitOut& said) {
  if (said.over) {
    over_ = std::max(over_, said.number);
    return;
  }
  since_[worker] = said.number;
  last_ = std::max(last_, said.number);
}

std::vector<NodeId> PausedWorkers::sitting_of(std::vector<NodeId> workers) const {
  std::erase_if(workers, [this](NodeId worker) { return !sits(worker); });
  return workers;
}

void PausedWorkers::ask(std::uint32_t part, const TensorSpec& spec,
                        const Consistency& rounds) const {
  if (!anybody() || !rounds.open() || rounds.open_assigns()) return;
  for (const NodeId worker : sitting_of(missing_from(rounds))) {
    const std::uint64_t made = rounds.rounds_of(worker) - rounds.rounds_before(worker);
    tell_(worker, {.spec = spec, .part = part, .round = made + 1});
  }
}

Status PausedWorkers::in_vain(const Consistency& rounds, Mode mode) const {
  if (!anybody()) return {};
  const bool assigns = rounds.open_assigns();
  // Outside collected rounds waiters are blocked by the staleness bound.
  const bool bounds = mode == Mode::kBounded && rounds.version() > 0;
  if (!assigns && !bounds) return {};
  const std::vector<Rank> absent = rounds.group()->ranks_of(sitting_of(rounds.awaited()));
  if (absent.empty()) return {};
  return {Code::kMismatch,
          fmt::format("worker {} sits out, and {}", list_of(absent),
                      assigns ? "a broadcast needs all workers; begin it when all have sat out"
                              : "the bound on staleness waits for its rounds; tensors of workers "
                                "that sit out are to be sync, eager or async")};
}

}  // namespace stretto
