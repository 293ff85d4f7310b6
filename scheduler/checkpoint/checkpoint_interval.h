// SPDX-License-Identifier: Apache-2.0
// CheckpointInterval: how long after a checkpoint the next one is due, by what the last one cost
// and how often the job fails: sqrt(2 x cost x time between failures), where what checkpoints cost
// and what a failure undoes add up to least (J. W. Young, A First Order Approximation to the
// Optimum Checkpoint Interval, Communications of the ACM 17 (9), 1974; J. T. Daly, A Higher Order
// Estimate of the Optimum Checkpoint Interval for Restart Dumps, Future Generation Computer Systems
// 22 (3), 2006). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"

namespace stretto {

/// What one checkpoint took.
struct CheckpointCost {
  Duration held{};     ///< Of the steps: so long the program's call held up who came to it last.
  Duration written{};  ///< From the cut until it was complete; in part beside the steps.
};

/// By the failures so far, and one that is taken to have been seen after `prior`: it counts less
/// the more have been seen, and the longer the job has run.
Duration time_between_failures(const FailureHistory& history, Duration running);

/// Young's interval, but: no shorter than what keeps the held time at 2 % of it, than twice the
/// writing, and than 10 s; and no longer than an hour, unless those want it.
Duration interval_for(const CheckpointCost& cost, Duration between_failures);

/// Thread: loop.
class CheckpointInterval {
 public:
  struct Choice {
    Duration every{};
    CheckpointCost cost;  ///< A mean, in which the last one counts a quarter.
    Duration between_failures{};
    bool is_news = false;  ///< The first, or twice as much as was said, or half.
  };

  CheckpointInterval(const FailureHistory& history, Time begun)
      : history_(history), start_(begun) {}

  /// One is cut now, by these workers.
  void cut(Time now, const std::vector<NodeId>& workers);
  /// This worker's program goes on, after it was held up so long.
  void on_held(NodeId worker, Duration held);
  /// It is not in the job any more: what it has not said is not waited for.
  void on_lost(NodeId worker) { awaited_.erase(worker); }
  /// It is complete, or has failed.
  void ended(Time now, bool complete);
  /// Once it is known what the last one cost, once.
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
