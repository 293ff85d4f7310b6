// SPDX-License-Identifier: Apache-2.0
// Each call is answered once, with its caller's urgency.
#include "rpc/callee.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

#include "common/log.h"
#include "rpc/message.h"

namespace stretto::rpc {
namespace {

// Calls beyond the limit get an error. A peer with kPatience times as many reads no answers.
constexpr std::size_t kPatience = 4;

Status closing() { return {Code::kCancelled, "the endpoint that was called is closing"}; }

// The error that is sent if the answer cannot be.
Status sendable(const Result<Message>& outcome) {
  if (!outcome.ok() || outcome->size() <= kMaxMessageBytes) return outcome.status();
  return {Code::kInvalidArgument, fmt::format("the answer has {} bytes, at most {} can be sent",
                                              outcome->size(), kMaxMessageBytes)};
}

}  // namespace

Status Callee::may_take(const Link& link, std::size_t bytes) const {
  if (closed_) return closing();
  if (link.unanswered >= limits_.max_calls) {
    return {Code::kResource,
            fmt::format("{} calls of this peer wait for their answers, no more are taken",
                        link.unanswered)};
  }
  const std::uint64_t room =
      limits_.max_held_bytes - std::min(link.held_bytes, limits_.max_held_bytes);
  if (room == 0 || bytes > room) {
    return {Code::kResource,
            fmt::format("unanswered calls of this peer, and answers that it has not taken, hold {} "
                        "bytes, with {} more it would be over {}",
                        link.held_bytes, bytes, limits_.max_held_bytes)};
  }
  return {};
}

Status Callee::on_call(LinkId id, const wire::Header& header, Buffer payload) {
  const auto found = links_.find(id);
  if (found == links_.end()) return {};
  Link& link = found->second;
  const auto frame = wire::CallFrame::of(header);
  const std::uint64_t number = frame.number;
  if (number == 0 || link.calls.count(number) != 0) {
    return {Code::kMalformed, fmt::format("call {} came twice, or is no number", number)};
  }
  if (link.calls.size() / kPatience >= limits_.max_calls) {
    return {Code::kResource,
            fmt::format("{} answers wait: this peer does not take them", link.calls.size())};
  }
  Status refusal = may_take(link, header.bytes);
  if (refusal.ok() && payload.size() < header.bytes) refusal = dropped_message(header.bytes);
  const std::shared_ptr<const Methods::Method> method = methods_.find(frame.method);
  if (refusal.ok() && method == nullptr) {
    refusal = {Code::kUnsupported, fmt::format("{}, {} others are", kNoMethod, methods_.count())};
  }
  InFlight& call = link.calls[number];
  last_tag_ += 2;
  call.tag = last_tag_;
  call.urgency = {frame.priority, deadline_in(header.deadline, van_.clock())};
  ++link.unanswered;
  if (!refusal.ok()) {
    answer(id, number, refusal);
    return {};
  }
  link.hold(call, payload.size());
  call.reply = std::make_shared<detail::ReplyState>(executor_, id, number, method->name);
  Request request{.message = to_message(std::move(payload)),
                  .from = Peer(id),
                  .priority = call.urgency.priority,
                  .deadline = call.urgency.deadline};
  try {
    method->handler(std::move(request), Reply(call.reply));
  } catch (const std::exception& thrown) {  // From user code; its reply may be dropped.
    log(Level::kWarning, "the handler of '{}' threw: {}", method->name,
        std::string_view(thrown.what()).substr(0, kMaxErrorBytes));
  }
  return {};
}

void Callee::answer(LinkId id, std::uint64_t number, const Result<Message>& outcome) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  const auto known = link.calls.find(number);
  if (known == link.calls.end() || known->second.answered) return;
  InFlight& call = known->second;
  STRETTO_CHECK(link.unanswered > 0 && link.unanswered <= link.calls.size());
  --link.unanswered;
  link.hold(call, 0);
  if (call.reply != nullptr) call.reply->release();
  if (call.cancelled) {
    link.end(known);
    return;
  }
  call.answered = true;
  const Status error = sendable(outcome);
  const wire::AnswerFrame frame{.number = number,
                                .error = static_cast<std::uint64_t>(error.code()),
                                .priority = call.urgency.priority};
  const Message message = error.ok() ? *outcome : Message(error.cause().substr(0, kMaxErrorBytes));
  link.hold(call, message.size());
  leaving_[call.tag] = {id, number};
  van_.send(id, frame.header(), to_buffer(message),
            {.tag = call.tag, .deadline = call.urgency.deadline});
  if (call.paused) van_.queue().pause(call.tag);
}

void Callee::steer(LinkId id, const control::Steer& steer) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const auto known = found->second.calls.find(steer.call);
  if (known == found->second.calls.end()) return;  // Its answer has been sent.
  InFlight& call = known->second;
  if (steer.cancelled) {
    call.cancelled = true;
    if (call.reply != nullptr) call.reply->release();
    if (!call.answered) return;  // It counts until its handler has released it.
    van_.queue().cancel(call.tag);
    leaving_.erase(call.tag);
    found->second.end(known);
    return;
  }
  call.urgency = {steer.priority, deadline_in(steer.deadline_us, van_.clock())};
  const bool was_paused = std::exchange(call.paused, steer.paused && !closed_);
  if (!call.answered) return;
  van_.queue().set_urgency(call.tag, call.urgency);
  if (call.paused && !was_paused) van_.queue().pause(call.tag);
  if (!call.paused && was_paused) van_.queue().resume(call.tag);
}

void Callee::on_left(std::uint64_t tag) {
  const auto found = leaving_.find(tag);
  if (found == leaving_.end()) return;
  const auto [link, number] = found->second;
  leaving_.erase(found);
  Link& from = links_.at(link);
  const auto call = from.calls.find(number);
  STRETTO_CHECK(call != from.calls.end() && call->second.answered);
  from.end(call);
}

void Callee::lose_link(LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  for (const auto& [number, call] : found->second.calls) {
    if (call.reply != nullptr) call.reply->release();
    leaving_.erase(call.tag);
  }
  links_.erase(found);
}

void Callee::close() {
  closed_ = true;
  for (auto& [id, link] : links_) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, call] : link.calls) numbers.push_back(number);
    for (const std::uint64_t number : numbers) {
      InFlight& call = link.calls.at(number);
      if (std::exchange(call.paused, false) && call.answered) van_.queue().resume(call.tag);
      answer(id, number, closing());
    }
  }
}

}  // namespace stretto::rpc
