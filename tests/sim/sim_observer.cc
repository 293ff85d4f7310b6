// SPDX-License-Identifier: Apache-2.0
// One question after the other.
#include "tests/sim/sim_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "van/control/handshake.h"

namespace stretto::sim {

SimObserver::SimObserver(const Visit& visit, std::string scheduler,
                         std::unique_ptr<Transport> transport, const Clock& clock)
    : visit_(visit),
      scheduler_(std::move(scheduler)),
      clock_(clock),
      van_(std::move(transport), clock),
      next_(clock.now() + visit.after) {}

Time SimObserver::next_due() const {
  if (over()) return Time::max();
  const bool waits = state_ == State::kGreeting || state_ == State::kAsking;
  return waits ? van_.next_due() : std::min(next_, van_.next_due());
}

void SimObserver::step(Duration wait) {
  van_.step(*this, wait);
  if (state_ == State::kComing && next_ <= clock_.now()) {
    link_ = van_.links().connect(scheduler_, introduction(Role::kObserver, "secret")).or_exit();
    state_ = State::kGreeting;
  } else if (state_ == State::kResting && next_ <= clock_.now()) {
    if (answers_ < visit_.questions) {
      ask();
    } else {
      state_ = State::kGone;
    }
  }
  if (over()) van_.shut();  // Its endpoint goes with its Van.
}

void SimObserver::ask() {
  using What = control::Observe::What;
  constexpr What kAll[] = {What::kSnapshot, What::kNames, What::kState};
  question_ = {.what = kAll[answers_ % std::size(kAll)]};
  van_.send_control(link_, question_);
  state_ = State::kAsking;
  if (!visit_.vanishes || answers_ + 1 < visit_.questions) return;
  van_.step(*this, Duration::zero());  // It leaves, and does not wait for the answer.
  state_ = State::kGone;
}

void SimObserver::hear(const control::Message& message) {
  if (const auto* welcome = std::get_if<control::Welcome>(&message)) {
    van_.set_node(welcome->node);
    van_.links().admit(link_, kSchedulerNode);
  } else if (const auto* told = std::get_if<control::Observed>(&message);
             told != nullptr && state_ == State::kAsking && told->what == question_.what) {
    ++answers_;
  } else {
    complaint_ = {Code::kMalformed,
                  fmt::format("answer {} is message {}", answers_ + 1, message.index())};
    state_ = State::kGone;
    return;
  }
  state_ = State::kResting;
  next_ = clock_.now() + visit_.pause;
}

void SimObserver::on_broken(LinkId, const Status& why) {
  if (state_ != State::kGreeting) complaint_ = why;
  state_ = State::kGone;
}

}  // namespace stretto::sim
