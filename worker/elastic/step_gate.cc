// SPDX-License-Identifier: Apache-2.0
// Answers the scheduler's questions, and tells the shards before the step.
#include "worker/elastic/step_gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

// The program's first steps, in which all workers agree on what they train (in Python the first one
// joins): no worker joins between them.
constexpr std::uint64_t kAgreed = 2;

}  // namespace

std::optional<std::uint64_t> StepCount::begin() {
  std::uint64_t word = word_;
  do {
    if ((word & 1) != 0) return std::nullopt;
  } while (!word_.compare_exchange_weak(word, word + 2));
  return (word >> 1) + 1;
}

std::uint64_t StepCount::ask(bool is_asked) {
  return (is_asked ? word_.fetch_or(1) : word_.fetch_and(~std::uint64_t{1})) >> 1;
}

void StepGate::begin(std::uint64_t step, Begun begun) {
  if (!ended_.ok()) return begun(Status(ended_).with_operation("next step"));
  if (waiting_) {
    return begun(
        Status(Code::kInvalidArgument,
               "another thread begins a step just now; one thread makes a program's steps"));
  }
  const Time now = clock_.now();
  waiting_ = {
      .step = step, .begun = std::move(begun), .since = now, .deadline = patience_.deadline(now)};
  tick();
}

void StepGate::enter(const control::TakeIn& taken) {
  entered_ = static_cast<std::uint32_t>(taken.nodes.size());
  entered_at_ = taken.step;
  coming_.erase(coming_.begin(), coming_.upper_bound(taken.step));
  said_.push_back(taken);
  count_->set(taken.step - 1, is_asked());
}

void StepGate::catch_up(std::uint64_t step) {
  count_->set(std::max(count_->begun(), step), is_asked());
}

// The program may always begin the step before which it has joined itself, and those before which
// others join: another worker may wait for it there.
void StepGate::on_question(const control::AtStep& question) {
  const bool again = question.number == question_ && is_open_;
  // From a restarted scheduler, which has not received this worker's answer.
  if (again) return ways_.tell_scheduler({.number = question_, .step = told_});
  if (question.number <= question_) return;
  question_ = question.number;
  is_open_ = true;
  told_ = std::max({count_->ask(true), entered_at_, kAgreed});
  if (!coming_.empty()) told_ = std::max(told_, coming_.rbegin()->first);
  ways_.tell_scheduler({.number = question_, .step = told_});
}

void StepGate::follow(const Roster& roster) {
  if (roster.question >= question_) is_open_ = false;
  coming_.clear();
  std::erase_if(said_, [&roster](const control::TakeIn& said) {
    return std::ranges::none_of(said.nodes, [&roster](NodeId node) {
      const Member* member = roster.find(node);
      return member != nullptr && !member->left;
    });
  });
  const std::uint64_t last = at();
  for (const Member& member : roster.members) {
    if (!member.left && member.from_step > last) coming_[member.from_step].insert(member.node);
  }
  count_->ask(is_asked());
}

void StepGate::let_go(std::uint32_t newcomers) {
  const Waiting first = *std::exchange(waiting_, std::nullopt);
  const std::uint32_t with_us = std::exchange(entered_, 0);
  count_->set(first.step, is_asked());
  first.begun(
      StepBegin{.step = first.step, .newcomers = newcomers + with_us, .comes_in = with_us > 0});
}

void StepGate::tick() {
  if (!waiting_) return;
  // Steps that this worker sat out: other workers have told the shards.
  coming_.erase(coming_.begin(), coming_.lower_bound(waiting_->step));
  const auto comes = coming_.find(waiting_->step);
  if (comes == coming_.end() && (!is_open_ || waiting_->step <= told_)) return let_go(0);
  if (comes != coming_.end() && ways_.is_at_rest()) {
    control::TakeIn said{.step = comes->first, .barriers = ways_.barriers()};
    said.nodes.assign(comes->second.begin(), comes->second.end());
    coming_.erase(comes);
    said_.push_back(said);
    ways_.tell_shards(said);
    return let_go(static_cast<std::uint32_t>(said.nodes.size()));
  }
  if (clock_.now() < next_due()) return;
  const std::string what = comes == coming_.end()
                               ? "the scheduler has not said who comes in before it"
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
