// SPDX-License-Identifier: Apache-2.0
// Waits for operations, and callbacks at their end.
#include "worker/operations/ticket.h"

#include <algorithm>
#include <chrono>

#include "common/check.h"
#include "common/process/fork_guard.h"

namespace stretto {
namespace detail {

ValueInfo combine(const ValueInfo& a, const ValueInfo& b) {
  return {.version = std::min(a.version, b.version),
          .staleness = std::max(a.staleness, b.staleness),
          .applied = std::min(a.applied, b.applied),
          .slowest = std::min(a.slowest, b.slowest),
          .spread = std::max(a.spread, b.spread),
          .contributors = std::min(a.contributors, b.contributors)};
}

void TicketState::end_one(const Status& status, const ValueInfo& info,
                          std::vector<PartInfo> parts) {
  Status outcome;
  {
    MutexLock lock(mutex_);
    STRETTO_CHECK(pending_ > 0);
    // Another error takes precedence over a rejected contribution.
    const bool says_more = is_rejected(status_) && !status.ok();
    if (status_.ok() || says_more) status_ = status;
    info_ = any_info_ ? combine(info_, info) : info;
    any_info_ = true;
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    if (--pending_ > 0) return;
    outcome = status_;
  }
  completion_.end(outcome, {});
}

Status TicketState::wait() { return wait_for(Duration::max()); }

Status TicketState::wait_for(Duration limit) {
  if (Status status = refuse_waiting(); !status.ok()) return status;
  if (traced_) note_waiting();
  wait_until(completion_, after(std::chrono::steady_clock::now(), limit));
  return completion_.status();
}

// The loop's thread cannot wait for an operation that it must end.
Status TicketState::refuse_waiting() {
  if (done()) return {};
  if (is_forked()) return used_after_fork("Worker", "wait");
  if (!is_on_loop()) return {};
  return {Code::kInvalidArgument,
          "a callback of on_done must not wait for a ticket: it stands in the operation's way; use "
          "on_done, or a thread of your own"};
}

void TicketState::note_waiting() {
  std::int64_t nobody = 0;
  if (done()) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  waited_since_.compare_exchange_strong(nobody, now, std::memory_order_relaxed);
}

ValueInfo TicketState::info() {
  MutexLock lock(mutex_);
  return info_;
}

std::vector<PartInfo> TicketState::parts() {
  MutexLock lock(mutex_);
  return parts_;
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
std::string Ticket::waits_for() const { return state_ ? state_->waits_for() : std::string(); }
bool Ticket::done() const { return !state_ || state_->done(); }
void Ticket::on_done(std::function<void(const Status&)> then) const {
  if (state_) {
    state_->on_done(std::move(then));
  } else {
    then(Status());
  }
}
ValueInfo Ticket::info() const { return state_ ? state_->info() : ValueInfo(); }
std::vector<PartInfo> Ticket::parts() const {
  return state_ ? state_->parts() : std::vector<PartInfo>();
}

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
