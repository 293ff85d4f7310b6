// SPDX-License-Identifier: Apache-2.0
// JoinProgress: how a worker joins a running job: it connects to all shards, reports that, and is
// admitted once every shard has acknowledged it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "common/clock.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class JoinProgress {
 public:
  using Tell = std::function<void(const control::AtStep&)>;

  /// Starts: the scheduler knows this worker, and there are links to all `shards`. It times out at
  /// `deadline`.
  void begin(std::size_t shards, Time deadline, const Tell& tell) {
    if (shards_ != 0) return;
    shards_ = shards;
    deadline_ = deadline;
    tell({});
  }
  /// A shard, or its replacement, has admitted this worker. Returns `said` once all shards have.
  std::optional<control::TakeIn> on_taken_in(std::size_t place, const control::TakeIn& said,
                                             const Tell& tell) {
    if (shards_ == 0 || !taken_in_.insert(place).second || taken_in_.size() < shards_) return {};
    deadline_ = Time::max();
    settled_ = said.step;
    tell({.step = settled_});
    return said;
  }

  /// Repeats the progress to a restarted scheduler, which may not have received it.
  void tell_again(const Tell& tell) const {
    if (shards_ != 0) tell({.step = settled_});
  }

  /// Another worker pauses: until then no step may begin before which this worker could join.
  void excuse(Time until) {
    if (deadline_ != Time::max()) deadline_ = std::max(deadline_, until);
  }
  /// True once: the deadline has passed.
  bool late(Time now) {
    if (now < deadline_) return false;
    deadline_ = Time::max();
    return true;
  }
  Time next_due() const { return deadline_; }
  static Status too_late() {
    return Status(Code::kRendezvousTimeout,
                  "no step of the job has begun before which this worker could come in: the "
                  "programs of the others must tell when their steps begin (stretto::ProgramSteps)")
        .with_operation("join");
  }

 private:
  std::size_t shards_ = 0;          // 0: it is not joining yet.
  std::set<std::size_t> taken_in_;  // Indices of shards.
  std::uint64_t settled_ = 0;       // The step before which all have admitted it, or 0.
  Time deadline_ = Time::max();
};

}  // namespace stretto
