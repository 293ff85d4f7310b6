// SPDX-License-Identifier: Apache-2.0
// Accepts one plan after another, at the rounds that begin a term.
#include "worker/peer_state/strategy_schedule.h"

#include <fmt/core.h>

#include <utility>

namespace stretto {

Status StrategySchedule::decide(std::uint64_t round, collective::StrategyPlan plan,
                                collective::Strategy strategy) {
  std::uint64_t next = decided_ + 1;
  while (!begin_at(next)) ++next;
  if (round != next) {
    return {Code::kMalformed,
            fmt::format("a plan came for round {}, the next one is for round {}", round, next)};
  }
  decided_ = round;
  plan_ = std::move(plan);
  strategy_ = std::move(strategy);
  return {};
}

}  // namespace stretto
