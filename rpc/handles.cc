// SPDX-License-Identifier: Apache-2.0
// Handles post requests to the loop, which completes them.
#include "rpc/handles.h"

#include <fmt/core.h>

#include "common/process/fork_guard.h"
#include "rpc/node.h"

namespace stretto::rpc {
namespace detail {

// A wait on the loop's own thread would never end.
Status CallState::blocked() {
  if (completion_.done()) return {};
  if (executor_->is_forked()) {
    return used_after_fork("Endpoint", fmt::format("call '{}'", method));
  }
  if (!executor_->is_here()) return {};
  return Status(Code::kInvalidArgument,
                "a handler or callback must not wait for a call: it stands in the answer's way; "
                "use on_done, or a thread of your own")
      .with_operation(fmt::format("call '{}'", method));
}

Result<Message> CallState::outcome(const Status& status) {
  if (!status.ok()) return status;
  return completion_.value();
}

Result<Message> CallState::wait() { return wait_for(Duration::max()); }

Result<Message> CallState::wait_for(Duration limit) {
  if (Status status = blocked(); !status.ok()) return status;
  executor_->wait_until(completion_, after(std::chrono::steady_clock::now(), limit));
  return outcome(completion_.status());
}

// The callback holds the state: the outcome must exist when it runs.
void CallState::on_done(std::function<void(const Result<Message>&)> then) {
  completion_.on_done(
      [self = this, then = std::move(then)](const Status& status) { then(self->outcome(status)); });
}

void CallState::steer(const Change& change) {
  if (completion_.done()) return;
  executor_->post([self = shared_from_this(), change](EndpointNode& node) {
    node.caller().steer(self, change);
  });
}

void CallState::end(Status status, Message answer) {
  const auto held = shared_from_this();
  if (!status.ok()) status = std::move(status).with_operation(fmt::format("call '{}'", method));
  message = {};
  completion_.end(status, std::move(answer));
}

void ReplyState::answer(Result<Message> outcome) {
  if (answered_.exchange(true, std::memory_order_acq_rel)) return;
  release();
  auto shared = std::make_shared<Result<Message>>(std::move(outcome));
  executor_->run([link = link_, number = number_, shared](EndpointNode& node) {
    node.callee().answer(link, number, *shared);
  });
}

void ReplyState::drop() {
  answer(Status(Code::kCancelled,
                fmt::format("the handler of '{}' dropped its reply unanswered", method_)));
}

}  // namespace detail

Result<Message> Call::wait() const { return state_ ? state_->wait() : Message(); }
Result<Message> Call::wait_for(Duration limit) const {
  return state_ ? state_->wait_for(limit) : Message();
}
bool Call::done() const { return !state_ || state_->done(); }
void Call::on_done(std::function<void(const Result<Message>&)> then) const {
  if (state_) {
    state_->on_done(std::move(then));
  } else {
    then(Message());
  }
}

void Call::set_priority(int priority) const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kPriority, .priority = priority});
}
void Call::set_deadline(Time deadline) const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kDeadline, .deadline = deadline});
}
void Call::pause() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kPause});
}
void Call::resume() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kResume});
}
void Call::cancel() const {
  if (state_) state_->steer({.kind = detail::Change::Kind::kCancel});
}

Reply& Reply::operator=(Reply&& other) noexcept {
  if (this != &other) {
    if (state_) state_->drop();
    state_ = std::move(other.state_);
  }
  return *this;
}
Reply::~Reply() {
  if (state_) state_->drop();
}
void Reply::send(Message answer) {
  if (state_) state_->answer(std::move(answer));
}
void Reply::fail(const Status& why) {
  if (state_)
    state_->answer(why.ok() ? Status(Code::kCancelled, "the handler gave no cause") : why);
}
bool Reply::wanted() const { return state_ && state_->wanted(); }

}  // namespace stretto::rpc
