// SPDX-License-Identifier: Apache-2.0
// Converts costs to an interval.
#include "scheduler/checkpoint/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

namespace stretto {
namespace {

constexpr int kHeldOf = 50;  // A checkpoint may block 1/kHeldOf of the time: 2 %.
constexpr int kWrittenOf = 2;
constexpr int kRecent = 4;  // A single checkpoint's time varies with the disk's load.
constexpr Duration kLeast = std::chrono::seconds(10);
constexpr Duration kMost = std::chrono::hours(1);
constexpr Duration kDay = std::chrono::hours(24);  // Costs are capped at this.

Duration of_seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

}  // namespace

Duration time_between_failures(const FailureHistory& history, Duration running) {
  return (history.prior + history.ran + running) / (history.failures + 1);
}

Duration interval_for(const CheckpointCost& cost, Duration between_failures) {
  const Duration held = std::clamp(cost.held, Duration::zero(), kDay);
  const Duration written = std::clamp(cost.written, Duration::zero(), kDay);
  const double young = std::sqrt(2 * seconds(held) * seconds(between_failures));
  const Duration least = std::max({kHeldOf * held, kWrittenOf * written, kLeast});
  const Duration wanted = young < seconds(kMost) ? of_seconds(young) : kMost;
  return std::max(wanted, least);
}

void CheckpointInterval::cut(Time now, const std::vector<NodeId>& workers) {
  cut_at_ = now;
  awaited_ = {workers.begin(), workers.end()};
  least_held_.reset();
  written_.reset();
}

// The last worker at the barrier counts: earlier ones have waited for others, as in each step.
void CheckpointInterval::on_held(NodeId worker, Duration held) {
  if (awaited_.erase(worker) == 0) return;
  least_held_ = std::min(held, least_held_.value_or(held));
}

void CheckpointInterval::ended(Time now, bool complete) {
  if (complete) {
    written_ = now - cut_at_;
  } else {
    least_held_.reset();
    awaited_.clear();
  }
}

std::optional<CheckpointInterval::Choice> CheckpointInterval::take(Time now) {
  if (!awaited_.empty() || !least_held_ || !written_) return std::nullopt;
  const CheckpointCost last{.held = *least_held_, .written = *written_};
  const CheckpointCost before = mean_.value_or(last);
  mean_ = {.held = before.held + (last.held - before.held) / kRecent,
           .written = before.written + (last.written - before.written) / kRecent};
  Choice choice{.cost = *mean_, .between_failures = time_between_failures(history_, now - start_)};
  choice.every = interval_for(choice.cost, choice.between_failures);
  choice.is_news =
      said_ == Duration::zero() || choice.every >= 2 * said_ || 2 * choice.every <= said_;
  if (choice.is_news) said_ = choice.every;
  least_held_.reset();
  return choice;
}

}  // namespace stretto
