// SPDX-License-Identifier: Apache-2.0
// A point passes, is taken, or waits for the decision.
#include "worker/checkpoint/checkpoint_points.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stretto {

void CheckpointPoints::offer(std::uint64_t step, Due due) {
  if (!ended_.ok()) return due(Status(ended_).with_operation("checkpoint"));
  if (waiting_) {
    return due(Status(Code::kInvalidArgument,
                      "another thread asks just now whether a checkpoint is due; one thread makes "
                      "a program's steps"));
  }
  waiting_ = {.step = step, .due = std::move(due), .deadline = patience_.deadline(clock_.now())};
  answer();
}

// If no question is open, the point passes.
void CheckpointPoints::answer() {
  if (!waiting_ || is_open_) return;
  const Waiting first = *std::exchange(waiting_, std::nullopt);
  const bool is_due = from_ != 0 && first.step >= from_;
  if (is_due) {
    from_ = 0;
    due_since_ = clock_.now();
  }
  word_->set(first.step, is_asked());
  first.due(is_due);
}

void CheckpointPoints::on_asked(const control::AtStep& said) {
  if (said.step == 0) {
    is_open_ = true;
    from_ = 0;
    tell_scheduler_({.number = said.number, .step = word_->ask(true), .checkpoint = true});
    return;
  }
  is_open_ = false;
  from_ = said.step;
  word_->ask(true);
  answer();
}

void CheckpointPoints::taken() {
  is_open_ = false;
  from_ = 0;
  word_->ask(false);
  answer();
}

void CheckpointPoints::returned(Time called) {
  const Time since = std::exchange(due_since_, std::nullopt).value_or(called);
  const auto held = std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - since);
  if (!ended_.ok()) return;
  tell_scheduler_({.checkpoint = true,
                   .held_us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, held.count()))});
}

void CheckpointPoints::tick() {
  if (next_due() > clock_.now()) return;
  std::exchange(waiting_, std::nullopt)
      ->due(Status(Code::kTimeout, "the scheduler has not said whether it is due")
                .with_operation("checkpoint"));
}

void CheckpointPoints::end_all(const Status& why) {
  ended_ = why;
  word_->ask(true);  // The next point gets the reason.
  if (waiting_) {
    std::exchange(waiting_, std::nullopt)->due(Status(why).with_operation("checkpoint"));
  }
}

}  // namespace stretto
