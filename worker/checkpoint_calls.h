// SPDX-License-Identifier: Apache-2.0
// CheckpointCalls: calls for checkpoints whose cut has been made: what this worker writes, and then
// the wait until all is complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "van/control.h"

namespace stretto {

/// A call whose checkpoint's cut has been made.
struct CheckpointShare {
  std::uint64_t call = 0;
  /// What this worker writes is of that. None: nothing is to be written, since it will not be made,
  /// or this worker writes it already.
  std::optional<control::CheckpointCut> cut = {};
};

/// Thread: loop.
class CheckpointCalls {
 public:
  using Done = std::function<void(const Status&)>;

  /// One that is not complete `patience` after await() fails here; it may yet come to its end.
  CheckpointCalls(const Clock& clock, Duration patience) : clock_(clock), patience_(patience) {}

  /// The scheduler says what is to be written, before the barrier opens.
  void on_cut(const control::CheckpointCut& cut) { cut_ = cut; }
  /// The barrier is open, and this is the attempt that is made there.
  CheckpointShare begin(std::uint64_t attempt) {
    calls_[++last_] = {.attempt = attempt};
    return {.call = last_, .cut = std::exchange(cut_, std::nullopt)};
  }
  /// Waits for the end of one that was begun; once.
  void await(std::uint64_t number, Done done) {
    Call& call = calls_.at(number);
    call.done = std::move(done);
    call.deadline = after(clock_.now(), patience_);
    if (call.ended) end(calls_.find(number));
  }
  void on_ended(const control::CheckpointEnded& ended) {
    end_those([&](const Call& call) { return call.attempt == ended.number; }, ended.why);
  }
  void end_all(const Status& why) {
    end_those([](const Call&) { return true; }, why);
  }
  void tick() {
    const Time now = clock_.now();
    end_those([now](const Call& call) { return call.deadline <= now; },
              {Code::kTimeout, "it has not been written in time"});
  }

  bool idle() const { return calls_.empty(); }
  Time next_due() const {
    Time due = Time::max();
    for (const auto& [number, call] : calls_) due = std::min(due, call.deadline);
    return due;
  }

 private:
  struct Call {
    std::uint64_t attempt = 0;
    Done done = {};
    Time deadline = Time::max();
    std::optional<Status> ended = {};  // How, perhaps before anybody asked.
  };
  using Calls = std::map<std::uint64_t, Call>;

  template <typename Which>
  void end_those(const Which& which, const Status& why) {
    std::vector<std::uint64_t> numbers;
    for (auto& [number, call] : calls_) {
      if (call.ended || !which(call)) continue;
      call.ended = why.ok() ? why : Status(why).with_operation("checkpoint");
      if (call.done) numbers.push_back(number);
    }
    for (const std::uint64_t number : numbers) end(calls_.find(number));
  }
  void end(Calls::iterator call) {
    const Call ended = std::move(call->second);
    calls_.erase(call);
    ended.done(*ended.ended);
  }

  const Clock& clock_;
  const Duration patience_;
  std::optional<control::CheckpointCut> cut_;
  std::uint64_t last_ = 0;
  Calls calls_;
};

}  // namespace stretto
