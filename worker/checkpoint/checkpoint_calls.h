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

#include "checkpoint/attachments.h"
#include "common/clock.h"
#include "van/control/control.h"
#include "worker/barriers/barrier_calls.h"
#include "worker/checkpoint/checkpoint_points.h"
#include "worker/operations/patience.h"

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
  using Begun = std::function<void(const Result<CheckpointShare>&)>;
  using Done = std::function<void(const Status&)>;
  struct Ways {
    /// Comes to a barrier for a checkpoint.
    std::function<void(std::uint64_t step, std::uint64_t alike, BarrierCalls::Cut)> enter;
    /// It is there, and waits for the servers.
    std::function<bool()> awaits_cut;
    std::function<void(const control::CheckpointSaved&)> tell_scheduler;
    std::function<void(const control::CheckpointEnded&)> ask;
    CheckpointPoints::Tell answer;
  };

  /// One that is not complete `patience` after end() fails here; it may yet come to its end.
  CheckpointCalls(const Clock& clock, Duration patience, Ways ways)
      : clock_(clock),
        patience_(patience),
        ways_(std::move(ways)),
        offers_(clock, patience, ways_.answer) {}

  /// Where the program could make one, if it is due by the scheduler's clock.
  CheckpointPoints& offers() { return offers_; }

  /// A barrier at which a checkpoint of this step is made: of what servers hold, which have cut
  /// then, and of what workers write. `alike`: control::Barrier.
  void begin(std::uint64_t step, std::uint64_t alike, const Begun& begun) {
    ways_.enter(step, alike, [this, begun](const Result<std::uint64_t>& attempt) {
      if (!attempt.ok()) {
        if (cut_) refuse(*std::exchange(cut_, std::nullopt));
        return begun(attempt.status());
      }
      offers_.taken();
      calls_[++last_] = {.attempt = *attempt};
      begun(CheckpointShare{.call = last_, .cut = std::exchange(cut_, std::nullopt)});
    });
  }
  /// This worker has written its own share of one that was begun, or not. `done` hears when all is
  /// complete.
  void end(const CheckpointShare& share, const Result<checkpoint::WrittenFile>& file, Done done);

  /// The scheduler says what is to be written, before the barrier opens.
  void on_cut(const control::CheckpointCut& cut);
  void on_ended(const control::CheckpointEnded& ended) {
    end_those([&](const Call& call) { return call.attempt == ended.number; }, ended.why);
  }
  /// Another scheduler is there: what has been written is told again, and what has ended is asked.
  void tell_again();
  void end_all(const Status& why) {
    offers_.end_all(why);
    end_those([](const Call&) { return true; }, why);
  }
  void tick() {
    offers_.tick();
    const Time now = clock_.now();
    end_those([&](const Call& call) { return patience_.extended(call.deadline) <= now; },
              {Code::kTimeout, "it has not been written in time"});
  }

  /// Patience::excuse.
  void excuse(Time now) {
    patience_.excuse(now);
    offers_.excuse(now);
  }
  bool idle() const { return calls_.empty() && offers_.idle(); }
  Time next_due() const {
    Time due = offers_.next_due();
    for (const auto& [number, call] : calls_)
      due = std::min(due, patience_.extended(call.deadline));
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
    for (const std::uint64_t number : numbers) tell(calls_.find(number));
  }
  void tell(Calls::iterator call) {
    const Call ended = std::move(call->second);
    calls_.erase(call);
    ended.done(*ended.ended);
  }

  void refuse(const control::CheckpointCut& cut);

  const Clock& clock_;
  Patience patience_;
  const Ways ways_;
  CheckpointPoints offers_;
  std::optional<control::CheckpointCut> cut_;
  std::optional<control::CheckpointSaved> told_;  // The last.
  std::uint64_t last_ = 0;
  Calls calls_;
};

}  // namespace stretto
