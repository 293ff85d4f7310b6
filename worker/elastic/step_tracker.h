// SPDX-License-Identifier: Apache-2.0
// StepTracker: a late worker's admission to a running job, and where its steps begin from then on.
#pragma once

#include <functional>

#include "worker/elastic/join_progress.h"
#include "worker/elastic/step_gate.h"

namespace stretto {

/// Thread: loop.
class StepTracker {
 public:
  struct Ways {
    StepGate::Ways gate;
    /// This worker is admitted, after this number of barriers.
    std::function<void(std::uint64_t barriers)> entered;
  };

  StepTracker(const Clock& clock, Duration patience, Duration entering_patience, Ways ways)
      : clock_(clock),
        entering_patience_(entering_patience),
        ways_(std::move(ways)),
        gate_(clock, patience, ways_.gate) {}

  /// There are links to all `shards`. True if this worker takes part. A worker that joins a running
  /// job does so once all shards have admitted it and the roster with its rank has arrived, perhaps
  /// later.
  bool takes_part(const Roster& roster, NodeId self, std::size_t shards) {
    const Member* member = roster.find(self);
    if (member == nullptr || (!member->joining && member->from_step == 0)) return true;
    entering_.begin(shards, after(clock_.now(), entering_patience_), ways_.gate.tell_scheduler);
    return is_taken_in_ && !member->joining;
  }
  void on_taken_in(std::size_t place, const control::TakeIn& said) {
    const auto in = entering_.on_taken_in(place, said, ways_.gate.tell_scheduler);
    if (!in) return;
    ways_.entered(in->barriers);
    gate_.enter(*in);
    // A server that has replaced another one since may not have received it.
    ways_.gate.tell_shards(*in);
    is_taken_in_ = true;
  }
  /// Re-announces a joining worker's progress to a restarted scheduler.
  void tell_again() const { entering_.tell_again(ways_.gate.tell_scheduler); }
  /// True once: the wait for admission has timed out.
  bool too_late() { return entering_.late(clock_.now()); }

  /// Patience::excuse, for both.
  void excuse(Time now) {
    entering_.excuse(after(now, entering_patience_));
    gate_.excuse(now);
  }

  StepGate& gate() { return gate_; }
  /// `roster`: membership's last one, or null.
  void tick(const Roster* roster) {
    if (roster != nullptr && roster->epoch != followed_epoch_) {
      followed_epoch_ = roster->epoch;
      gate_.follow(*roster);
    }
    gate_.tick();
  }
  Time next_due() const { return std::min(entering_.next_due(), gate_.next_due()); }
  bool idle() const { return gate_.idle(); }

 private:
  const Clock& clock_;
  const Duration entering_patience_;
  const Ways ways_;
  JoinProgress entering_;
  StepGate gate_;
  bool is_taken_in_ = false;
  std::uint32_t followed_epoch_ = 0;
};

}  // namespace stretto
