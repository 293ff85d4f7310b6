// SPDX-License-Identifier: Apache-2.0
// A query to all workers, and its answer.
#include "scheduler/checkpoint/checkpoint_timer.h"

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kAgain = std::chrono::milliseconds(100);  // While no worker can be asked.

}  // namespace

void CheckpointTimer::follow(Time now, const std::vector<NodeId>& workers) {
  if (every_ == Duration::zero()) return;
  if (workers.empty()) {
    if (begun_ && now >= due_) due_ = now + kAgain;
    return;
  }
  if (!std::exchange(begun_, true)) count_from(now);
  if (now < due_) return;
  if (!std::exchange(is_open_, true)) {
    ++question_;
    told_.clear();
    from_ = 0;
  }
  std::erase_if(told_, [&workers](const auto& each) {
    return std::ranges::find(workers, each.first) == workers.end();
  });
  for (const NodeId worker : workers) {
    if (!told_.try_emplace(worker, std::nullopt).second) continue;
    // A worker that joins later has begun no step beyond the others.
    tell_(worker, {.number = question_, .step = from_, .checkpoint = true});
  }
  decide();
}

void CheckpointTimer::on_told(NodeId worker, const control::AtStep& said) {
  const auto asked = told_.find(worker);
  if (!is_open_ || said.number != question_ || asked == told_.end() || from_ != 0) return;
  asked->second = said.step;
  decide();
}

void CheckpointTimer::decide() {
  if (from_ != 0 || std::ranges::any_of(told_, [](const auto& each) { return !each.second; })) {
    return;
  }
  for (const auto& [worker, step] : told_) from_ = std::max(from_, *step + 1);
  for (const auto& [worker, step] : told_) {
    tell_(worker, {.number = question_, .step = from_, .checkpoint = true});
  }
}

void CheckpointTimer::taken(Time now) {
  is_open_ = false;
  begun_ = true;
  if (every_ != Duration::zero()) count_from(now);
}

void CheckpointTimer::go_on(Time now) {
  if (every_ == Duration::zero()) return;
  begun_ = true;
  since_ = due_ = now;
}

void CheckpointTimer::count_from(Time now) {
  since_ = now;
  due_ = now + every_;
}

// Starts no timer before the job has begun, and keeps an open query.
void CheckpointTimer::set_every(Duration every) {
  if (every_ == Duration::zero()) return;
  every_ = every;
  if (begun_ && !is_open_) count_from(since_);
}

}  // namespace stretto
