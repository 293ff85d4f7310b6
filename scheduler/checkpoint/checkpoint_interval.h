// SPDX-License-Identifier: Apache-2.0
// CheckpointInterval: how long after a checkpoint the next one is due, by the last one's cost and
// the failure rate: sqrt(2 x cost x time between failures), which minimises the time lost to
// checkpoints and failures (J. W. Young, A First Order Approximation to the Optimum Checkpoint
// Interval, Communications of the ACM 17 (9), 1974; J. T. Daly, A Higher Order Estimate of the
// Optimum Checkpoint Interval for Restart Dumps, Future Generation Computer Systems 22 (3), 2006).
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"

namespace stretto {

/// The cost of a checkpoint.
struct CheckpointCost {
  Duration held{};     ///< How long the call blocked the last worker at the barrier.
  Duration written{};  ///< From the cut until completion; partly in parallel with steps.
};

/// From the failures so far, and a prior failure after `prior`. The prior weighs less the more
/// failures were seen, and the longer the job has run.
Duration time_between_failures(const FailureHistory& history, Duration running);

/// Young's interval, with bounds: the held time is at most 2 % of it; it is at least twice the
/// writing time and 10 s. It is at most an hour, unless those bounds are longer.
Duration interval_for(const CheckpointCost& cost, Duration between_failures);

/// Thread: loop.
class CheckpointInterval {
 public:
  struct Choice {
    Duration every{};
    CheckpointCost cost;  ///< A mean, in which the last one weighs a quarter.
    Duration between_failures{};
    bool is_news = false;  ///< The first, or twice or half of the last reported.
  };

  CheckpointInterval(const FailureHistory& history, Time begun)
      : history_(history), start_(begun) {}

  /// A checkpoint is cut now, by these workers.
  void cut(Time now, const std::vector<NodeId>& workers);
  /// This worker's program continues, after `held` at the barrier.
  void on_held(NodeId worker, Duration held);
  /// It is no longer a member: its report is not waited for.
  void on_lost(NodeId worker) { awaited_.erase(worker); }
  /// The checkpoint is complete, or has failed.
  void ended(Time now, bool complete);
  /// The next interval, once after the cost of each checkpoint is known.
  std::optional<Choice> take(Time now);

 private:
  const FailureHistory history_;
  const Time start_;
  Time cut_at_{};
  std::set<NodeId> awaited_;
  std::optional<Duration> least_held_;
  std::optional<Duration> written_;
  std::optional<CheckpointCost> mean_;
  Duration said_{};
};

}  // namespace stretto
