// SPDX-License-Identifier: Apache-2.0
// StrategySchedule: the plans of a tensor whose exchange is chosen while it is used. All workers
// know which rounds begin a term; one worker decides its plan.
#pragma once

#include <cstdint>

#include "collective/strategy.h"
#include "collective/strategy_chooser.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop.
class StrategySchedule {
 public:
  /// The plan of the first term, which all workers know.
  StrategySchedule(collective::StrategyPlan plan, collective::Strategy strategy)
      : plan_(std::move(plan)), strategy_(std::move(strategy)) {}

  /// A term begins with this round: with the 4th, when something is known of links, the 16th, and
  /// each 64th.
  static constexpr bool begin_at(std::uint64_t round) {
    return round == 4 || round == 16 || (round % 64 == 0 && round != 0);
  }
  /// True if this round must not begin before its plan is known.
  bool awaited_by(std::uint64_t round) const { return begin_at(round) && decided_ < round; }
  /// Sets the plan of the term that begins with this round. kMalformed, without effect, unless it
  /// is the next possible term.
  Status decide(std::uint64_t round, collective::StrategyPlan plan, collective::Strategy strategy);

  /// The plan of the last known term.
  const collective::StrategyPlan& plan() const { return plan_; }
  const collective::Strategy& strategy() const { return strategy_; }
  /// The first round of that term; 0: it is the first term.
  std::uint64_t decided() const { return decided_; }

 private:
  collective::StrategyPlan plan_;
  collective::Strategy strategy_;
  std::uint64_t decided_ = 0;
};

}  // namespace stretto
