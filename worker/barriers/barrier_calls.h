// SPDX-License-Identifier: Apache-2.0
// BarrierCalls: the calls of barrier() and sit_out() that have not returned. They begin one at a
// time, in the order of the calls; barriers are numbered from 1.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "common/clock.h"
#include "van/control/control.h"
#include "worker/barriers/empty_contributor.h"
#include "worker/operations/patience.h"

namespace stretto {

/// Thread: loop.
class BarrierCalls {
 public:
  /// Gets the rank of the last worker to arrive.
  using Done = std::function<void(const Result<Rank>&)>;
  /// Gets the attempt number of the checkpoint: the servers have cut, and write.
  using Cut = std::function<void(const Result<std::uint64_t>&)>;
  /// Tells the scheduler that this worker is at a barrier.
  using Enter = std::function<void(const control::Barrier&)>;

  /// A barrier that is not open after `patience` fails; sitting out has no time limit. The empty
  /// contributor outlives this.
  BarrierCalls(const Clock& clock, Duration patience, EmptyContributor& stand_in, Enter enter)
      : clock_(clock), patience_(patience), stand_in_(stand_in), enter_(std::move(enter)) {}

  void barrier(Done done) { add({.done = std::move(done)}); }
  void sit_out(Done done) { add({.done = std::move(done), .sits_out = true}); }
  /// Enters it once no operation of this worker is in flight. `alike`: control::Barrier.
  void checkpoint(std::uint64_t step, std::uint64_t alike, Cut cut) {
    add({.cut = std::move(cut), .step = step, .alike = alike});
  }

  /// The scheduler reports that all workers have arrived.
  void on_open(const control::Barrier& open);
  /// Tells a restarted scheduler which barrier opened last, and where this worker waits.
  void tell_again() const;
  /// Ends all calls with an error. The barrier that was announced to the scheduler keeps its number
  /// for the next attempt.
  void end_all(const Status& why);
  /// Enters the barrier of a sit_out() as soon as this worker's own rounds are over.
  void enter_if_ready();

  bool idle() const { return calls_.empty(); }
  /// Barriers that this worker has reached; a worker that joined later counts earlier ones, too.
  std::uint64_t number() const { return number_; }
  void begin_after(std::uint64_t number) { number_ = number; }
  /// True while a checkpoint's cut is awaited.
  bool awaits_cut() const { return !idle() && entered_ && calls_.front().cut; }
  /// Why no operation may begin, if the servers are about to cut; else ok.
  Status refusal() const;
  /// True if the first call is no sit_out, and has timed out.
  bool late() const { return next_due() <= clock_.now(); }
  /// Patience::excuse.
  void excuse(Time now) { patience_.excuse(now); }
  /// The error of that timeout.
  Status lateness() const;
  Time next_due() const { return idle() ? Time::max() : patience_.extended(deadline_); }
  /// The name of the first call, if it began before that time: "barrier". Else empty.
  std::string oldest(Time before) const;
  /// When the first call began, if there is one.
  Time since() const { return since_; }

 private:
  struct Call {
    Done done = {};
    Cut cut = {};            // Of a checkpoint, instead.
    std::uint64_t step = 0;  // The checkpoint's step.
    std::uint64_t alike = 0;
    bool sits_out = false;
    const char* name() const { return sits_out ? "sit_out" : cut ? "checkpoint" : "barrier"; }
    void end(const Result<control::Barrier>& open) const;
  };
  void add(Call call);
  void begin();
  control::Barrier entry() const;

  const Clock& clock_;
  Patience patience_;
  EmptyContributor& stand_in_;
  Enter enter_;
  std::deque<Call> calls_;
  std::uint64_t number_ = 0;     // Of the first call's barrier.
  bool entered_ = false;         // The scheduler was told of that.
  control::Barrier opened_;      // The last at which it waited.
  Time since_;                   // When the first call began.
  Time deadline_ = Time::max();  // Its deadline.
};

}  // namespace stretto
