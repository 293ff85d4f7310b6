// SPDX-License-Identifier: Apache-2.0
// SchedulerSearch: a member's side of a scheduler that is lost and awaited: when it is called
// again, and until when. Pure: it is told times.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class SchedulerSearch {
 public:
  /// It is lost, for that reason, and awaited for `patience`; `spread` tells members apart, so that
  /// not all call at the same moment.
  void begin(Status why, Duration patience, NodeId spread, Time now) {
    search_ = {.why = std::move(why), .since = now, .until = now + patience, .next_call = now};
    retry_ = kRetry + std::chrono::milliseconds(spread % 32);
  }
  /// It is there again, or will not be.
  void end() { search_.reset(); }
  bool lasts() const { return search_.has_value(); }

  // ---- while it lasts

  /// It is to be called now, if no call waits for its answer.
  bool calls(Time now) const { return now >= search_->next_call; }
  /// That is done.
  void called(Time now) { search_->answer_by = now + kPatience; }
  /// The call has had no answer for too long.
  bool is_unanswered(Time now) const { return now >= search_->answer_by; }
  /// The call came to nothing.
  void failed(const Status& why, Time now) {
    search_->answer_by = Time::max();
    search_->next_call = now + retry_;
    search_->last = why.cause();
  }
  /// This process stood still: what it missed may be there now.
  void slept(Time now) { search_->until = std::max(search_->until, now + 2 * kPatience); }

  bool is_over(Time now) const { return now >= search_->until; }
  /// What is said then.
  Status verdict() const;
  /// The same, before it is over: nobody is there who would start another.
  Status alone(std::uint64_t starter) const;
  Time next_due() const {
    const bool waits = search_->answer_by != Time::max();
    return std::min(search_->until, waits ? search_->answer_by : search_->next_call);
  }

 private:
  static constexpr Duration kRetry = std::chrono::milliseconds(100);
  // Who stands still is called at the kernel's cost, and does not answer.
  static constexpr Duration kPatience = std::chrono::seconds(1);

  struct Search {
    Status why;
    Time since;
    Time until;
    Time next_call;
    Time answer_by = Time::max();
    std::string last = {};  // What the last call came to.
  };
  std::optional<Search> search_;
  Duration retry_ = kRetry;
};

}  // namespace stretto
