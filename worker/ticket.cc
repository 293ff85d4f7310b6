// SPDX-License-Identifier: Apache-2.0
// Waiting for operations, and being told of their end.
#include "worker/ticket.h"

#include <algorithm>

namespace stretto {
namespace detail {

ValueInfo combine(const ValueInfo& a, const ValueInfo& b) {
  return {.version = std::min(a.version, b.version),
          .staleness = std::max(a.staleness, b.staleness),
          .applied = std::min(a.applied, b.applied),
          .slowest = std::min(a.slowest, b.slowest),
          .spread = std::max(a.spread, b.spread)};
}

void TicketState::end_one(const Status& status, const ValueInfo& info) {
  std::vector<std::function<void(const Status&)>> callbacks;
  Status outcome;
  {
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = status;
    info_ = any_info_ ? combine(info_, info) : info;
    any_info_ = true;
    if (--pending_ > 0) return;
    outcome = status_;
    callbacks.swap(callbacks_);
    ended_.notify_all();
  }
  for (const auto& callback : callbacks) callback(outcome);
}

Status TicketState::wait() {
  MutexLock lock(mutex_);
  while (pending_ > 0) ended_.wait(mutex_);
  return status_;
}

Status TicketState::wait_for(Duration limit) {
  const Time deadline = std::chrono::steady_clock::now() + limit;
  MutexLock lock(mutex_);
  while (pending_ > 0) {
    if (ended_.wait_until(mutex_, deadline) == std::cv_status::timeout && pending_ > 0) {
      return {Code::kTimeout, "the operation has not ended yet and goes on"};
    }
  }
  return status_;
}

bool TicketState::done() {
  MutexLock lock(mutex_);
  return pending_ == 0;
}

void TicketState::on_done(std::function<void(const Status&)> then) {
  Status outcome;
  {
    MutexLock lock(mutex_);
    if (pending_ > 0) {
      callbacks_.push_back(std::move(then));
      return;
    }
    outcome = status_;
  }
  then(outcome);
}

ValueInfo TicketState::info() {
  MutexLock lock(mutex_);
  return info_;
}

Ticket ended_ticket(const Status& status) {
  auto state = std::make_shared<TicketState>(1);
  state->end_one(status, {});
  return Ticket(std::move(state));
}

}  // namespace detail

Status Ticket::wait() const { return state_ ? state_->wait() : Status(); }
Status Ticket::wait_for(Duration limit) const {
  return state_ ? state_->wait_for(limit) : Status();
}
bool Ticket::done() const { return !state_ || state_->done(); }
void Ticket::on_done(std::function<void(const Status&)> then) const {
  if (state_) {
    state_->on_done(std::move(then));
  } else {
    then(Status());
  }
}
ValueInfo Ticket::info() const { return state_ ? state_->info() : ValueInfo(); }

void Ticket::set_priority(int priority) const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kPriority, .priority = priority});
}
void Ticket::set_deadline(Time deadline) const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kDeadline, .deadline = deadline});
}
void Ticket::pause() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kPause});
}
void Ticket::resume() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kResume});
}
void Ticket::cancel() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kCancel});
}

}  // namespace stretto
