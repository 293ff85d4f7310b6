// SPDX-License-Identifier: Apache-2.0
// CheckpointCalls: calls for checkpoints whose cut has been made: this worker's contribution, and
// the wait until the checkpoint is complete.
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
  /// The cut of this worker's contribution. None: it writes nothing, since the checkpoint was
  /// abandoned or another call of this worker writes it already.
  std::optional<control::CheckpointCut> cut = {};
};

/// Thread: loop.
class CheckpointCalls {
 public:
  using Begun = std::function<void(const Result<CheckpointShare>&)>;
  using Done = std::function<void(const Status&)>;
  struct Ways {
    /// Enters a barrier for a checkpoint.
    std::function<void(std::uint64_t step, std::uint64_t alike, BarrierCalls::Cut)> enter;
    /// True while this worker waits there for the servers.
    std::function<bool()> awaits_cut;
    std::function<void(const control::CheckpointSaved&)> tell_scheduler;
    std::function<void(const control::CheckpointEnded&)> ask;
    CheckpointPoints::Tell answer;
  };

  /// A checkpoint that is not complete `patience` after end() fails here; it may still complete.
  CheckpointCalls(const Clock& clock, Duration patience, Ways ways)
      : clock_(clock),
        patience_(patience),
        ways_(std::move(ways)),
        offers_(clock, patience, ways_.answer) {}

  /// Points at which the program could make a checkpoint, if one is due by the scheduler's clock.
  CheckpointPoints& offers() { return offers_; }

  /// A barrier at which a checkpoint of this step is made: of the servers' cut, and of what the
  /// workers write. `alike`: control::Barrier.
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
  /// This worker has written its contribution, or has failed to. `done` is called when the
  /// checkpoint is complete.
  void end(const CheckpointShare& share, const Result<checkpoint::WrittenFile>& file, Done done);

  /// The scheduler's order to write, which precedes the opening of the barrier.
  void on_cut(const control::CheckpointCut& cut);
  void on_ended(const control::CheckpointEnded& ended) {
    end_those([&](const Call& call) { return call.attempt == ended.number; }, ended.why);
  }
  /// Repeats to a restarted scheduler what has been written, and asks for outcomes.
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
    std::optional<Status> ended = {};  // The outcome, perhaps before end().
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
  std::optional<control::CheckpointSaved> told_;  // The last report.
  std::uint64_t last_ = 0;
  Calls calls_;
};

}  // namespace stretto
