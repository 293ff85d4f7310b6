// SPDX-License-Identifier: Apache-2.0
// BarrierCalls: the calls of barrier() and sit_out() that have not returned. One at a time, the
// first, is begun, in the order in which they were made; barriers have numbers from 1.
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
  /// Gets the rank of who came last.
  using Done = std::function<void(const Result<Rank>&)>;
  /// Hears which attempt at a checkpoint it is: the servers have cut, and write.
  using Cut = std::function<void(const Result<std::uint64_t>&)>;
  /// Tells the scheduler that this worker is at a barrier.
  using Enter = std::function<void(const control::Barrier&)>;

  /// A barrier that is not open after `patience` fails; sitting out may take as long as it takes.
  /// The stand-in outlives this.
  BarrierCalls(const Clock& clock, Duration patience, EmptyContributor& stand_in, Enter enter)
      : clock_(clock), patience_(patience), stand_in_(stand_in), enter_(std::move(enter)) {}

  void barrier(Done done) { add({.done = std::move(done)}); }
  void sit_out(Done done) { add({.done = std::move(done), .sits_out = true}); }
  /// It is entered when nothing of this worker's own is in flight. `alike`: control::Barrier.
  void checkpoint(std::uint64_t step, std::uint64_t alike, Cut cut) {
    add({.cut = std::move(cut), .step = step, .alike = alike});
  }

  /// The scheduler says that all are there.
  void on_open(const control::Barrier& open);
  /// Another scheduler is there: it is told what has opened last, and where this worker waits.
  void tell_again() const;
  /// All calls end with an error. The barrier that the scheduler was told of keeps its number for
  /// the next try.
  void end_all(const Status& why);
  /// Enters the barrier of who sits out as soon as its own rounds are over.
  void enter_if_ready();

  bool idle() const { return calls_.empty(); }
  /// Barriers that this worker has come to, or of one that came later, would have.
  std::uint64_t number() const { return number_; }
  void begin_after(std::uint64_t number) { number_ = number; }
  /// A checkpoint's cut is waited for.
  bool awaits_cut() const { return !idle() && entered_ && calls_.front().cut; }
  /// Why nothing may be begun: the servers are about to cut. Else ok.
  Status refusal() const;
  /// The first is no sit_out, and its patience has ended.
  bool late() const { return next_due() <= clock_.now(); }
  /// Patience::excuse.
  void excuse(Time now) { patience_.excuse(now); }
  /// What is said of it then.
  Status lateness() const;
  Time next_due() const { return idle() ? Time::max() : patience_.extended(deadline_); }
  /// The first call, if it was begun before that: "barrier". Else empty.
  std::string oldest(Time before) const;
  /// When the first was begun, if there is one.
  Time since() const { return since_; }

 private:
  struct Call {
    Done done = {};
    Cut cut = {};            // Of a checkpoint, instead,
    std::uint64_t step = 0;  // which is of this step.
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
  bool entered_ = false;         // The scheduler has been told of that.
  control::Barrier opened_;      // The last at which this worker waited.
  Time since_;                   // When it was begun,
  Time deadline_ = Time::max();  // and until when it may take.
};

}  // namespace stretto
