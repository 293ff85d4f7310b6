// SPDX-License-Identifier: Apache-2.0
// A call is queued, sent, and answered; it may be given up in each of these states.
#include "rpc/caller.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "rpc/message.h"
#include "rpc/methods.h"
#include "van/control/control_codec.h"

namespace stretto::rpc {

void Caller::start(const CallState& call, LinkId id) {
  STRETTO_CHECK(call->tag == 0);
  if (!closed_.ok()) {
    call->end(closed_);
    return;
  }
  const auto found = links_.find(id);
  if (found == links_.end()) {
    call->end({Code::kPeerLost, fmt::format("there is no link to peer {} (any more)", id)});
    return;
  }
  Link& link = found->second;
  if (link.calls.size() >= max_calls_) {
    call->end(Status(Code::kResource,
                     fmt::format("{} calls to it are in flight, no more are taken; wait for some, "
                                 "or raise Options::max_calls",
                                 link.calls.size()))
                  .with_peer(link.name));
    return;
  }
  last_tag_ += 2;
  call->tag = last_tag_;
  const std::uint64_t number = ++link.issued;
  link.calls[number] = call->tag;
  const Time expires = clock_.now() + call->timeout;
  calls_[call->tag] = {.state = call, .link = id, .number = number, .expires = expires};
  expiries_.emplace(expires, call->tag);
  const wire::CallFrame frame{
      .number = number, .method = hash_of(call->method), .priority = call->urgency.priority};
  van_.send(id, frame.header(), to_buffer(std::exchange(call->message, {})),
            {.tag = call->tag, .deadline = call->urgency.deadline});
}

// Until the call has been sent completely it is changed in the queue, and its last slice tells the
// peer. After that a message follows it, which cannot overtake it.
void Caller::steer(const CallState& call, const detail::Change& change) {
  using Kind = detail::Change::Kind;
  const auto found = calls_.find(call->tag);
  if (found == calls_.end()) return;
  if (change.kind == Kind::kCancel) {
    give_up(call->tag, {Code::kCancelled, "its caller cancelled it"});
    return;
  }
  if (change.kind == Kind::kPriority) call->urgency.priority = change.priority;
  if (change.kind == Kind::kDeadline) call->urgency.deadline = change.deadline;
  if (change.kind == Kind::kPause) call->paused = true;
  if (change.kind == Kind::kResume) call->paused = false;
  if (found->second.left) {
    tell(found->second, false);
  } else if (change.kind == Kind::kPause) {
    van_.queue().pause(call->tag);
  } else if (change.kind == Kind::kResume) {
    van_.queue().resume(call->tag);
  } else {
    van_.queue().set_urgency(call->tag, call->urgency);
  }
}

void Caller::tell(const InFlight& call, bool cancelled) {
  const Urgency& urgency = call.state->urgency;
  const control::Steer steer{.call = call.number,
                             .priority = urgency.priority,
                             .deadline_us = time_left(urgency.deadline, clock_.now()),
                             .paused = call.state->paused,
                             .cancelled = cancelled};
  van_.send_control(call.link, steer);
}

void Caller::give_up(std::uint64_t tag, const Status& why) {
  const InFlight& call = calls_.at(tag);
  if (call.left) {
    tell(call, true);
  } else {
    van_.queue().cancel(tag);
  }
  end(tag, why);
}

Status Caller::on_answer(LinkId id, const wire::Header& header, Buffer payload) {
  const auto found = links_.find(id);
  if (found == links_.end()) return {};
  const auto frame = wire::AnswerFrame::of(header);
  const std::uint64_t number = frame.number;
  if (number == 0 || number > found->second.issued) {
    return {Code::kMalformed,
            fmt::format("an answer to call {} came, {} were made", number, found->second.issued)};
  }
  const auto known = found->second.calls.find(number);
  if (known == found->second.calls.end()) return {};  // The call was given up.
  const std::uint64_t tag = known->second;
  if (!calls_.at(tag).left) {
    return {Code::kMalformed, fmt::format("an answer to call {} came before it had left", number)};
  }
  if (payload.size() < header.bytes) {
    end(tag, dropped_message(header.bytes));
    return {};
  }
  if (frame.error == 0) {
    end(tag, {}, to_message(std::move(payload)));
    return {};
  }
  std::string text(reinterpret_cast<const char*>(payload.data()),
                   std::min(payload.size(), kMaxErrorBytes));
  if (text.starts_with(kNoMethod)) {  // The callee knows only the hash of the name.
    text = fmt::format("'{}' cannot be called: {}", calls_.at(tag).state->method, text);
  }
  end(tag, control::status_from(frame.error, text, {}));
  return {};
}

void Caller::on_left(std::uint64_t tag) {
  const auto found = calls_.find(tag);
  if (found != calls_.end()) found->second.left = true;
}

void Caller::end(std::uint64_t tag, const Status& status, Message answer) {
  const auto node = calls_.extract(tag);
  STRETTO_CHECK(!node.empty());
  const InFlight& call = node.mapped();
  Link& link = links_.at(call.link);
  link.calls.erase(call.number);
  expiries_.erase({call.expires, tag});
  STRETTO_CHECK(expiries_.size() == calls_.size());
  call.state->tag = 0;
  call.state->end(status.ok() ? status : Status(status).with_peer(link.name), std::move(answer));
}

void Caller::lose_link(LinkId id, const Status& why) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const Status lost(Code::kPeerLost, why.cause());
  while (!found->second.calls.empty()) end(found->second.calls.begin()->second, lost);
  links_.erase(found);
}

void Caller::close(const Status& why) {
  STRETTO_CHECK(!why.ok());
  closed_ = why;
  while (!calls_.empty()) give_up(calls_.begin()->first, why);
}

void Caller::tick() {
  const Time now = clock_.now();
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const std::uint64_t tag = expiries_.begin()->second;
    const detail::CallState& call = *calls_.at(tag).state;
    const double timeout = std::chrono::duration<double>(call.timeout).count();
    give_up(tag, {Code::kTimeout,
                  fmt::format("method '{}' gave no answer within {:.3g} s", call.method, timeout)});
  }
}

}  // namespace stretto::rpc
