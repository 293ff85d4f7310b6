// SPDX-License-Identifier: Apache-2.0
// A worker that sits out tells the shards at once, since other such workers may wait for its empty
// contributions. It enters the barrier only when its own rounds are over. So when the barrier opens
// no earlier contribution is in flight, and the next round of every part is a full one.
#include "worker/barriers/barrier_calls.h"

#include <utility>

namespace stretto {

void BarrierCalls::Call::end(const Result<control::Barrier>& open) const {
  if (cut) return cut(open.ok() ? Result<std::uint64_t>(open->checkpoint) : open.status());
  done(open.ok() ? Result<Rank>(open->last) : open.status());
}

void BarrierCalls::add(Call call) {
  calls_.push_back(std::move(call));
  if (calls_.size() == 1) begin();
}

void BarrierCalls::begin() {
  const bool sits_out = calls_.front().sits_out;
  ++number_;
  entered_ = false;
  since_ = clock_.now();
  deadline_ = sits_out ? Time::max() : patience_.deadline(since_);
  if (sits_out) stand_in_.begin(number_);
  enter_if_ready();
}

void BarrierCalls::enter_if_ready() {
  if (idle() || entered_) return;
  const Call& call = calls_.front();
  if ((call.sits_out || call.cut) && !stand_in_.at_rest()) return;
  entered_ = true;
  enter_(entry());
}

control::Barrier BarrierCalls::entry() const {
  const Call& call = calls_.front();
  return {.number = number_,
          .sits_out = call.sits_out,
          .checkpoint = call.cut ? call.step + 1 : 0,
          .alike = call.alike};
}

void BarrierCalls::tell_again() const {
  if (opened_.number != 0) {
    control::Barrier told = opened_;
    told.opened = true;
    enter_(told);
  }
  if (!idle() && entered_) enter_(entry());
}

void BarrierCalls::on_open(const control::Barrier& open) {
  if (idle() || !entered_ || open.number != number_) return;
  const Call first = std::move(calls_.front());
  calls_.pop_front();
  opened_ = open;
  if (first.sits_out) stand_in_.end();
  if (!idle()) begin();
  first.end(open);
}

Status BarrierCalls::refusal() const {
  if (idle() || !calls_.front().cut) return {};
  return {Code::kInvalidArgument,
          "a checkpoint is being made of what there is; begin nothing until save() has "
          "returned"};
}

Status BarrierCalls::lateness() const {
  if (idle() || !calls_.front().cut) {
    return {Code::kTimeout, "not every worker came to the barrier in time"};
  }
  return {Code::kTimeout, "not every worker came to the checkpoint in time, or a server is late"};
}

void BarrierCalls::end_all(const Status& why) {
  if (idle()) return;
  if (entered_ && calls_.front().cut) enter_({.number = number_, .withdraws = true});
  --number_;
  if (calls_.front().sits_out) stand_in_.give_up();
  for (const Call& call : std::exchange(calls_, {})) {
    call.end(Status(why).with_operation(call.name()));
  }
}

std::string BarrierCalls::oldest(Time before) const {
  return idle() || since_ > before ? std::string() : calls_.front().name();
}

}  // namespace stretto
