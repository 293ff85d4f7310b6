// SPDX-License-Identifier: Apache-2.0
// JoinProgress: how a worker comes into a job that runs. It greets all shards, says so, and is in
// once each of them has taken it in.
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

  /// It is known to the scheduler, and has links to so many shards, which is all of them. It is
  /// patient until then.
  void begin(std::size_t shards, Time deadline, const Tell& tell) {
    if (shards_ != 0) return;
    shards_ = shards;
    deadline_ = deadline;
    tell({});
  }
  /// A shard has taken it in, or another that has its place. What it said, once all have.
  std::optional<control::TakeIn> on_taken_in(std::size_t place, const control::TakeIn& said,
                                             const Tell& tell) {
    if (shards_ == 0 || !taken_in_.insert(place).second || taken_in_.size() < shards_) return {};
    deadline_ = Time::max();
    settled_ = said.step;
    tell({.step = settled_});
    return said;
  }

  /// Another scheduler is there, which may not have heard it.
  void tell_again(const Tell& tell) const {
    if (shards_ != 0) tell({.step = settled_});
  }

  /// Another worker pauses: until then no step may begin before which it could come in.
  void excuse(Time until) {
    if (deadline_ != Time::max()) deadline_ = std::max(deadline_, until);
  }
  /// True once: its patience has ended.
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
  std::size_t shards_ = 0;          // 0: it is not on its way.
  std::set<std::size_t> taken_in_;  // By places.
  std::uint64_t settled_ = 0;       // The step before which all have, or 0.
  Time deadline_ = Time::max();
};

}  // namespace stretto
