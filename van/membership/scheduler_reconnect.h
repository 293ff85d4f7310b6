// SPDX-License-Identifier: Apache-2.0
// SchedulerReconnect: a member's search for its lost scheduler: when to connect, and for how long.
// Pure: it gets times as arguments.
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
  /// Starts a search because of `why`, for `patience`; `spread` differs between members, so that
  /// their attempts do not coincide.
  void begin(Status why, Duration patience, NodeId spread, Time now) {
    search_ = {.why = std::move(why), .since = now, .until = now + patience, .next_call = now};
    retry_ = kRetry + std::chrono::milliseconds(spread % 32);
  }
  /// The scheduler is back, or was given up.
  void end() { search_.reset(); }
  bool lasts() const { return search_.has_value(); }

  // ---- during a search

  /// An attempt is due, unless one waits for its answer.
  bool calls(Time now) const { return now >= search_->next_call; }
  /// An attempt was made.
  void called(Time now) { search_->answer_by = now + kPatience; }
  /// The attempt has timed out.
  bool is_unanswered(Time now) const { return now >= search_->answer_by; }
  /// The attempt failed.
  void failed(const Status& why, Time now) {
    if (!std::exchange(search_->answered, false)) search_->refusals = 0;
    search_->answer_by = Time::max();
    search_->next_call = now + retry_;
    search_->last = why.cause();
  }
  /// The listener rejects this member: the attempt fails as well.
  void refused(const Status& why, Time now) {
    if (search_->refusals++ == 0) search_->refused_since = now;
    search_->answered = true;
    search_->refusal = why.cause();
  }
  /// Repeated rejections: while it listens there, no other scheduler can.
  bool meets_a_stranger(Time now) const {
    return search_->refusals >= kMostRefusals && now - search_->refused_since >= kStranger;
  }
  /// True once, when the scheduler is away longer than a restart usually takes.
  bool is_missed(Time now) {
    if (search_->told || now - search_->since < kMissed) return false;
    return search_->told = true;
  }
  /// After a suspension of this process, its scheduler may be back unnoticed.
  void slept(Time now) { search_->until = std::max(search_->until, now + 2 * kPatience); }

  bool is_over(Time now) const { return now >= search_->until; }
  /// The error after a timeout.
  Status verdict() const;
  /// The error if the parent process, which would start another scheduler, has exited.
  Status alone(std::uint64_t starter) const;
  Status replaced() const;
  /// Log text for a long absence.
  std::string news(Time now) const;
  Time next_due() const {
    const bool waits = search_->answer_by != Time::max();
    return std::min(search_->until, waits ? search_->answer_by : search_->next_call);
  }

 private:
  static constexpr Duration kRetry = std::chrono::milliseconds(100);
  // The kernel accepts connections for a suspended process, which does not answer.
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
    std::string last = {};       // Result of the last attempt.
    std::uint32_t refusals = 0;  // Consecutive ones,
    Time refused_since = {};
    std::string refusal = {};  // and the text of the last one.
    bool answered = false;     // The current attempt was.
    bool told = false;         // is_missed() has returned true.
  };
  std::optional<Search> search_;
  Duration retry_ = kRetry;
};

}  // namespace stretto
