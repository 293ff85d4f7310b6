// SPDX-License-Identifier: Apache-2.0
// A question, its answer, and the step before which shards are told.
#include "worker/step_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stretto {

void StepGate::begin(std::uint64_t step, Begun begun) {
  if (!ended_.ok()) return begun(Status(ended_).with_operation("next step"));
  if (waiting_) {
    return begun(
        Status(Code::kInvalidArgument,
               "another thread begins a step just now; one thread makes a program's steps"));
  }
  const Time now = clock_.now();
  waiting_ = {
      .step = step, .begun = std::move(begun), .since = now, .deadline = after(now, patience_)};
  tick();
}

void StepGate::enter(const control::TakeIn& taken) {
  entered_ = static_cast<std::uint32_t>(taken.nodes.size());
  count_->begun = taken.step - 1;
  count_->is_asked = true;
}

void StepGate::catch_up(std::uint64_t step) {
  count_->begun = std::max<std::uint64_t>(count_->begun, step);
}

// The program's thread may be about to begin a step that it was not told to ask for.
void StepGate::on_question(const control::AtStep& question) {
  if (question.number <= question_) return;
  forget_question();
  question_ = question.number;
  count_->is_asked = true;
  told_ = count_->begun + 1;
  ways_.tell_scheduler({.number = question_, .step = told_});
}

void StepGate::follow(const Roster& roster) {
  if (question_ == 0 || roster.question < question_) return;
  newcomers_.clear();
  for (const Member& member : roster.members) {
    if (!member.left && member.from_step == roster.step) newcomers_.insert(member.node);
  }
  decided_ = roster.step;
  if (newcomers_.empty()) forget_question();
}

void StepGate::forget_question() {
  question_ = 0;
  decided_ = 0;
  newcomers_.clear();
  count_->is_asked = entered_ > 0;
}

void StepGate::let_go(std::uint32_t newcomers) {
  const Waiting first = *std::exchange(waiting_, std::nullopt);
  const std::uint32_t with_us = std::exchange(entered_, 0);
  count_->begun = first.step;
  count_->is_asked = question_ != 0;
  first.begun(
      StepBegin{.step = first.step, .newcomers = newcomers + with_us, .comes_in = with_us > 0});
}

void StepGate::tick() {
  if (!waiting_) return;
  if (question_ == 0 || waiting_->step <= told_) return let_go(0);
  if (decided_ != 0 && waiting_->step < decided_) return let_go(0);
  if (decided_ != 0 && waiting_->step > decided_) {  // It sat out the step's begin: others told.
    forget_question();
    return let_go(0);
  }
  if (decided_ != 0 && ways_.is_at_rest()) {
    control::TakeIn said{.step = decided_, .barriers = ways_.barriers()};
    said.nodes.assign(newcomers_.begin(), newcomers_.end());
    ways_.tell_shards(said);
    forget_question();
    return let_go(static_cast<std::uint32_t>(said.nodes.size()));
  }
  if (clock_.now() < waiting_->deadline) return;
  const std::string what = decided_ == 0 ? "the scheduler has not said who comes in before it"
                                         : "operations of the step before are still in flight";
  give_up({Code::kTimeout, fmt::format("step {} could not begin: {}", waiting_->step, what)});
}

std::optional<Time> StepGate::waits_since() const {
  return waiting_ ? std::optional(waiting_->since) : std::nullopt;
}

void StepGate::end_all(const Status& why) {
  ended_ = why;
  give_up(why);
}

void StepGate::give_up(const Status& why) {
  if (!waiting_) return;
  const Waiting first = *std::exchange(waiting_, std::nullopt);
  first.begun(Status(why).with_operation("next step"));
}

}  // namespace stretto
