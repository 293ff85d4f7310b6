// SPDX-License-Identifier: Apache-2.0
// SchedulerReconnect: a member's side of a scheduler that is lost and awaited: when it is called
// again, and until when. Pure: it is told times.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class SchedulerReconnect {
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
    if (!std::exchange(search_->answered, false)) search_->refusals = 0;
    search_->answer_by = Time::max();
    search_->next_call = now + retry_;
    search_->last = why.cause();
  }
  /// Who listens there says that it is none of its members: that call comes to nothing, too.
  void refused(const Status& why, Time now) {
    if (search_->refusals++ == 0) search_->refused_since = now;
    search_->answered = true;
    search_->refusal = why.cause();
  }
  /// It does so again and again: as long as it listens there, no other can.
  bool meets_a_stranger(Time now) const {
    return search_->refusals >= kMostRefusals && now - search_->refused_since >= kStranger;
  }
  /// True once, when it is away for longer than another takes to come, as a rule.
  bool is_missed(Time now) {
    if (search_->told || now - search_->since < kMissed) return false;
    return search_->told = true;
  }
  /// This process stood still: what it missed may be there now.
  void slept(Time now) { search_->until = std::max(search_->until, now + 2 * kPatience); }

  bool is_over(Time now) const { return now >= search_->until; }
  /// What is said then.
  Status verdict() const;
  /// The same, before it is over: nobody is there who would start another.
  Status alone(std::uint64_t starter) const;
  Status replaced() const;
  /// What is said of one that is missed.
  std::string news(Time now) const;
  Time next_due() const {
    const bool waits = search_->answer_by != Time::max();
    return std::min(search_->until, waits ? search_->answer_by : search_->next_call);
  }

 private:
  static constexpr Duration kRetry = std::chrono::milliseconds(100);
  // Who stands still is called at the kernel's cost, and does not answer.
  static constexpr Duration kPatience = std::chrono::seconds(1);
  static constexpr std::uint32_t kMostRefusals = 3;
  static constexpr Duration kStranger = std::chrono::seconds(5);
  static constexpr Duration kMissed = std::chrono::seconds(2);

  struct Search {
    Status why;
    Time since;
    Time until;
    Time next_call;
    Time answer_by = Time::max();
    std::string last = {};       // What the last call came to.
    std::uint32_t refusals = 0;  // One after another,
    Time refused_since = {};
    std::string refusal = {};  // and the last one.
    bool answered = false;     // It was this call's.
    bool told = false;         // That it is missed.
  };
  std::optional<Search> search_;
  Duration retry_ = kRetry;
};

}  // namespace stretto
