// SPDX-License-Identifier: Apache-2.0
// Links: who greets whom, and how they end.
#include "rpc/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/address.h"
#include "van/greeting.h"
#include "van/messages.h"

namespace stretto::rpc {
namespace {

constexpr Duration kRetry = 100ms;
constexpr Duration kLastPatience = 5s;              // For answers, when an endpoint is closed.
constexpr Duration kLongestFarewell = 2s;           // For far ends to hear of it.
constexpr std::uint64_t kLargestSlice = 256 << 10;  // What every endpoint takes.
constexpr std::size_t kMaxPeerName = 256;

}  // namespace

Node::Node(Settings settings, const Methods& methods, std::unique_ptr<Transport> transport,
           const Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      van_(std::move(transport), clock),
      caller_(van_, clock, settings_.max_calls),
      callee_(van_, methods,
              {.max_calls = settings_.max_calls, .max_held_bytes = settings_.max_held_bytes}) {
  van_.set_largest_slice(kLargestSlice);
  van_.set_most_begun(settings_.max_held_bytes);
  van_.set_dead_after(settings_.dead_after);
}

Status Node::closed() const { return {Code::kCancelled, "the endpoint is closed"}; }

// ---- what others ask of us

Result<std::string> Node::listen(std::string_view address) {
  if (closing_) return closed();
  return van_.listen(address);
}

void Node::start(const Caller::CallState& call, Peer peer) {
  if (closing_) {
    call->end(closed());
    return;
  }
  caller_.start(call, peer.id());
}

void Node::steer(const Caller::CallState& call, const detail::Change& change) {
  if (!closing_) caller_.steer(call, change);
}

void Node::answer(LinkId link, std::uint64_t number, const Result<Message>& outcome) {
  if (!over_) callee_.answer(link, number, outcome);
}

void Node::disconnect(Peer peer) {
  if (over_ || peers_.count(peer.id()) == 0) return;
  van_.close(peer.id());
  lose(peer.id(), {Code::kPeerLost, "the link to it was ended here, by disconnect()"});
}

// ---- getting in elsewhere

void Node::connect(const std::string& address, Duration timeout, Connected done) {
  if (closing_) {
    done(closed());
    return;
  }
  const Time now = clock_.now();
  attempts_.push_back({.address = address,
                       .timeout = timeout,
                       .deadline = now + timeout,
                       .retry_at = now,
                       .done = std::move(done),
                       .link = 0,
                       .last_break = {}});
  try_to_connect(std::prev(attempts_.end()));
}

void Node::try_to_connect(Attempts::iterator attempt) {
  attempt->retry_at = clock_.now() + kRetry;
  const Result<LinkId> link =
      van_.connect(attempt->address, introduction(Role::kEndpoint, settings_.token));
  if (link.ok()) {
    attempt->link = *link;
  } else if (link.status().code() == Code::kNetwork || link.status().code() == Code::kLinkBroken) {
    attempt->last_break = link.status();
  } else {
    end_attempt(attempt, link.status());
  }
}

void Node::end_attempt(Attempts::iterator attempt, const Result<Peer>& outcome) {
  const Connected done = std::move(attempt->done);
  attempts_.erase(attempt);
  done(outcome);
}

Node::Attempts::iterator Node::find_attempt(LinkId link) {
  return std::find_if(attempts_.begin(), attempts_.end(),
                      [link](const Attempt& attempt) { return attempt.link == link; });
}

void Node::try_again() {
  const Time now = clock_.now();
  for (auto next = attempts_.begin(); next != attempts_.end();) {
    const auto attempt = next++;
    if (attempt->deadline <= now) {
      const std::string last = attempt->last_break.ok()
                                   ? std::string("nothing was heard of it")
                                   : "the last attempt: " + attempt->last_break.cause();
      if (attempt->link != 0) van_.close(attempt->link);
      end_attempt(
          attempt,
          Status(Code::kTimeout,
                 fmt::format("nobody let us in at {} within {:.3g} s; {}", attempt->address,
                             std::chrono::duration<double>(attempt->timeout).count(), last)));
    } else if (attempt->link == 0 && attempt->retry_at <= now) {
      try_to_connect(attempt);
    }
  }
}

// ---- what comes

void Node::on_control(LinkId link, const wire::Control& message) {
  const auto attempt = find_attempt(link);
  const bool is_peer = peers_.count(link) != 0;
  if (message.has_hello()) {
    on_hello(link, message.hello());
  } else if (message.has_welcome() && attempt != attempts_.end()) {
    let_in(link, std::string(host_port_of(attempt->address)));
    end_attempt(attempt, Peer(link));
  } else if (message.has_fault() && attempt != attempts_.end()) {
    van_.close(link);
    end_attempt(attempt, status_of(message.fault()));
  } else if (message.has_fault() && is_peer) {
    van_.close(link);
    lose(link, {Code::kPeerLost, "it ended the link: " + message.fault().cause()});
  } else if (message.has_steer() && is_peer) {
    callee_.steer(link, message.steer());
  } else {
    turn_out(link, {Code::kMalformed, "endpoints take calls, answers and what steers them"});
  }
}

void Node::on_hello(LinkId link, const wire::Hello& hello) {
  Status status = check_greeting(hello, settings_.token);
  if (status.ok() && hello.role() != static_cast<std::uint32_t>(Role::kEndpoint)) {
    status = {Code::kRefused, fmt::format("{} comes as role {}, this is an endpoint of RPC, which "
                                          "only endpoints connect to",
                                          hello.host(), hello.role())};
  }
  if (status.ok() && closing_) status = closed();
  if (status.ok() && guests_.size() >= settings_.max_peers) {
    status = {Code::kResource, fmt::format("{} peers have connected, no more are taken; raise "
                                           "Options::max_peers there",
                                           guests_.size())};
  }
  if (!status.ok()) {
    van_.refuse(link, status);
    return;
  }
  guests_.insert(link);
  let_in(link, hello.host().substr(0, kMaxPeerName));
  wire::Control message;
  message.mutable_welcome();
  van_.send_control(link, message);
}

// Endpoints have no identity that somebody gave them: the link is all that is known.
void Node::let_in(LinkId link, const std::string& name) {
  van_.admit(link, 0);
  peers_[link] = name;
  caller_.add_link(link, name);
  callee_.add_link(link);
}

void Node::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  Status status(Code::kMalformed, "endpoints take calls and answers only");
  if (payload.size() > kMaxMessageBytes) {
    status = {Code::kMalformed, fmt::format("a message of {} bytes came, at most {} are taken",
                                            payload.size(), kMaxMessageBytes)};
  } else if (header.kind == wire::Kind::kCall) {
    status = callee_.on_call(link, header, std::move(payload));
  } else if (header.kind == wire::Kind::kAnswer) {
    status = caller_.on_answer(link, header, std::move(payload));
  }
  if (!status.ok()) turn_out(link, status);
}

// The far end may be slow to see it, so our calls do not wait for that.
void Node::turn_out(LinkId link, const Status& why) {
  van_.refuse(link, why);
  lose(link, {Code::kPeerLost, "it was turned out for what it sent: " + why.cause()});
}

void Node::on_left(LinkId, std::uint64_t tag) {
  caller_.on_left(tag);
  callee_.on_left(tag);
}

void Node::on_broken(LinkId link, const Status& why) {
  const auto attempt = find_attempt(link);
  if (attempt != attempts_.end()) {
    attempt->link = 0;
    attempt->last_break = why;
  }
  lose(link, why);
}

void Node::lose(LinkId link, const Status& why) {
  if (peers_.erase(link) == 0) return;
  guests_.erase(link);
  callee_.lose_link(link);
  caller_.lose_link(link, why);
}

// ---- time and the end

void Node::step(Duration wait) {
  if (over_) return;
  van_.step(*this, wait);
  try_again();
  caller_.tick();
  if (closing_ && !finished_ && (van_.idle() || clock_.now() >= drained_by_)) finish();
  if (finished_) over_ = !van_.lingers() || clock_.now() >= told_by_;
}

Time Node::next_due() const {
  if (finished_) return std::min(van_.next_due(), told_by_);
  if (closing_ && van_.idle()) return clock_.now();
  Time due = std::min({van_.next_due(), caller_.next_due(), drained_by_});
  for (const Attempt& attempt : attempts_) {
    due = std::min(
        due, attempt.link == 0 ? std::min(attempt.retry_at, attempt.deadline) : attempt.deadline);
  }
  return due;
}

void Node::close() {
  if (closing_) return;
  closing_ = true;
  drained_by_ = clock_.now() + kLastPatience;
  caller_.end_all(closed());
  callee_.close();
  while (!attempts_.empty()) {
    if (attempts_.front().link != 0) van_.close(attempts_.front().link);
    end_attempt(attempts_.begin(), closed());
  }
}

void Node::abandon() {
  close();
  finish();
  over_ = true;
}

void Node::finish() {
  while (!peers_.empty()) {
    const LinkId link = peers_.begin()->first;
    van_.close(link);
    lose(link, closed());
  }
  finished_ = true;
  told_by_ = clock_.now() + kLongestFarewell;
}

}  // namespace stretto::rpc
