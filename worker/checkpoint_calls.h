// SPDX-License-Identifier: Apache-2.0
// CheckpointCalls: calls that wait until a checkpoint is complete whose cut has been made.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "van/control.h"

namespace stretto {

/// Thread: loop.
class CheckpointCalls {
 public:
  using Done = std::function<void(const Status&)>;

  /// One that is not complete after `patience` fails here; it may yet come to its end.
  CheckpointCalls(const Clock& clock, Duration patience) : clock_(clock), patience_(patience) {}

  /// Waits for the checkpoint of this number.
  void await(std::uint64_t number, Done done) {
    calls_.emplace(number,
                   Call{.done = std::move(done), .deadline = after(clock_.now(), patience_)});
  }
  void on_ended(const control::CheckpointEnded& ended) { end(ended.number, ended.why); }
  void end_all(const Status& why) {
    while (!calls_.empty()) end(calls_.begin()->first, why);
  }
  void tick() {
    while (!calls_.empty() && next_due() <= clock_.now()) {
      const auto late = std::ranges::min_element(
          calls_, {}, [](const auto& call) { return call.second.deadline; });
      end(late->first, {Code::kTimeout, "the servers have not written it in time"});
    }
  }

  bool idle() const { return calls_.empty(); }
  Time next_due() const {
    Time due = Time::max();
    for (const auto& [number, call] : calls_) due = std::min(due, call.deadline);
    return due;
  }

 private:
  struct Call {
    Done done;
    Time deadline;
  };

  void end(std::uint64_t number, const Status& why) {
    auto [first, last] = calls_.equal_range(number);
    std::vector<Call> ended;
    for (auto call = first; call != last; ++call) ended.push_back(std::move(call->second));
    calls_.erase(first, last);
    for (const Call& call : ended) {
      call.done(why.ok() ? why : Status(why).with_operation("checkpoint"));
    }
  }

  const Clock& clock_;
  const Duration patience_;
  std::multimap<std::uint64_t, Call> calls_;
};

}  // namespace stretto
