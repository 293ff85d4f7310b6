// SPDX-License-Identifier: Apache-2.0
// Connection attempts: started, broken, retried, and ended.
#include "rpc/connector.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "van/control/handshake.h"

namespace stretto::rpc {
namespace {

constexpr Duration kRetry = 100ms;

}  // namespace

void Connector::connect(const std::string& address, Duration timeout, Connected done) {
  const Time now = clock_.now();
  attempts_.push_back({.address = address,
                       .timeout = timeout,
                       .deadline = now + timeout,
                       .retry_at = now,
                       .done = std::move(done),
                       .link = 0,
                       .last_break = {}});
  start(std::prev(attempts_.end()));
}

void Connector::start(Attempts::iterator attempt) {
  STRETTO_CHECK(attempt->link == 0);
  attempt->retry_at = clock_.now() + kRetry;
  const Result<LinkId> link =
      van_.links().connect(attempt->address, introduction(Role::kEndpoint, token_));
  if (link.ok()) {
    attempt->link = *link;
  } else if (link.status().code() == Code::kNetwork || link.status().code() == Code::kLinkBroken) {
    attempt->last_break = link.status();
  } else {
    finish(attempt, link.status());
  }
}

void Connector::finish(Attempts::iterator attempt, const Result<Peer>& outcome) {
  const Connected done = std::move(attempt->done);
  attempts_.erase(attempt);
  done(outcome);
}

Connector::Attempts::iterator Connector::find(LinkId link) {
  return std::find_if(attempts_.begin(), attempts_.end(),
                      [link](const Attempt& attempt) { return attempt.link == link && link != 0; });
}

const std::string& Connector::address_of(LinkId link) {
  const auto attempt = find(link);
  STRETTO_CHECK(attempt != attempts_.end());
  return attempt->address;
}

void Connector::end(LinkId link, const Result<Peer>& outcome) {
  const auto attempt = find(link);
  STRETTO_CHECK(attempt != attempts_.end());
  finish(attempt, outcome);
}

void Connector::on_broken(LinkId link, const Status& why) {
  const auto attempt = find(link);
  if (attempt == attempts_.end()) return;
  attempt->link = 0;
  attempt->last_break = why;
  if (why.code() == Code::kResource) finish(attempt, why);  // No retry, as in start().
}

void Connector::tick() {
  const Time now = clock_.now();
  for (auto next = attempts_.begin(); next != attempts_.end();) {
    const auto attempt = next++;
    if (attempt->deadline <= now) {
      const std::string last = attempt->last_break.ok()
                                   ? std::string("nothing was heard of it")
                                   : "the last attempt: " + attempt->last_break.cause();
      if (attempt->link != 0) van_.links().close(attempt->link);
      finish(attempt,
             Status(Code::kTimeout,
                    fmt::format("nobody let us in at {} within {:.3g} s; {}", attempt->address,
                                std::chrono::duration<double>(attempt->timeout).count(), last)));
    } else if (attempt->link == 0 && attempt->retry_at <= now) {
      start(attempt);
    }
  }
}

Time Connector::next_due() const {
  Time due = Time::max();
  for (const Attempt& attempt : attempts_) {
    due = std::min(due, attempt.deadline);
    if (attempt.link == 0) due = std::min(due, attempt.retry_at);
  }
  return due;
}

void Connector::end_all(const Status& why) {
  while (!attempts_.empty()) {
    if (attempts_.front().link != 0) van_.links().close(attempts_.front().link);
    finish(attempts_.begin(), why);
  }
}

}  // namespace stretto::rpc
