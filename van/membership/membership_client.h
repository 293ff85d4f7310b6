// SPDX-License-Identifier: Apache-2.0
// MembershipClient: a node's side of its life in a job: greet the scheduler, wait for the roster,
// show signs of life, watch for the scheduler's, leave. The scheduler alone decides who is in.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/threads/wait_notes.h"
#include "van/membership/heartbeats.h"
#include "van/membership/scheduler_link.h"
#include "van/membership/scheduler_silence.h"
#include "van/membership/verdicts.h"

namespace stretto {

/// Notices that this process itself stood still (stopped, suspended, swapped out): whoever slept
/// must not accuse others of silence. Thread: loop.
class SuspendDetector {
 public:
  /// True if so much time has passed since the last call that we were not running.
  bool slept(Time now) {
    const bool long_gap = last_ != Time() && now - last_ > kGap;
    last_ = now;
    if (long_gap) woke_ = now;
    return long_gap;
  }
  /// True for a moment after slept(): signs of life that came meanwhile may be unread.
  bool catches_up(Time now) const { return woke_ != Time() && now - woke_ < kMoment; }

 private:
  static constexpr Duration kGap = 2s;
  static constexpr Duration kMoment = 1s;
  Time last_;
  Time woke_;
};

/// Thread: loop.
class MembershipClient {
 public:
  enum class State {
    kIdle,
    kGreeting,    ///< Hello sent, or trying to connect.
    kRendezvous,  ///< Welcomed; waiting for the others.
    kMember,      ///< There is a roster.
    kLeaving,     ///< Asked to leave.
    kResigning,   ///< Has failed, and told the scheduler why; gone when that has been heard.
    kLeft,        ///< Out, in order.
    kFailed,      ///< Out, with an error: status().
    kCutOff       ///< The same, of an elastic job, which may well go on without this node.
  };

  /// What a node says of itself in its hello.
  struct Self {
    std::uint32_t shard = 0;
    std::string address;  ///< Where it listens; empty: a worker that cannot be called.
  };

  MembershipClient(const Config& config, Self self, Van& van, const Clock& clock);

  /// `address`: where this node listens, if that was not known before.
  void start(std::string address = {});
  /// A control message of the scheduler's link. Roster, welcome, heartbeat, leave, failure and
  /// fault of the whole job are handled here; true if it was one of these.
  bool on_control(LinkId link, const control::Message& message);
  /// True if the link was the scheduler's.
  bool on_broken(LinkId link, const Status& why);
  void tick();
  Time next_due() const;
  /// What they tell, and what the scheduler's tell.
  Heartbeats& heartbeats() { return heartbeats_; }

  void leave();
  /// Ends membership with an error, as if the scheduler had said so. kCutOff: because this node is
  /// lost to the others, or they to it; in a job of fixed size it is over, too.
  void fail(Status why, State as = State::kFailed);
  /// Ends it with an error of this process's own (a signal, no memory), which the scheduler is told
  /// before the process goes: else it, and all others, would only see links that break.
  void resign(Status why);
  /// Tells the scheduler that a link to a member broke. If it does not decide what that means
  /// within a few seconds, the membership fails with `verdict`. The time stops while the scheduler
  /// is away, and begins again with it.
  void report_broken(NodeId node, const Status& why, Status verdict);

  State state() const { return state_; }
  bool over() const { return state_ >= State::kLeft; }
  const Status& status() const { return status_; }
  const std::optional<Roster>& roster() const { return roster_; }
  NodeId node() const { return node_; }
  /// Member::number.
  Rank number() const { return number_; }
  const SchedulerLink& scheduler() const { return scheduler_; }
  /// The scheduler is awaited, or its heartbeats are overdue in a job where it may be replaced. It
  /// decides on no loss meanwhile, and this node decides on none without it.
  bool scheduler_is_away() const;
  const JobSettings& settings() const { return roster_ ? roster_->settings : config_.job; }
  /// The hello for a link to another node.
  control::Hello hello() const;

 private:
  void on_welcome(const control::Welcome& welcome);
  void on_roster(const Roster& roster);
  void watch_scheduler(Time now);
  void lose_scheduler(Status why);

  const Config& config_;
  Self self_;
  Van& van_;
  const Clock& clock_;
  State state_ = State::kIdle;
  Status status_;
  std::optional<Roster> roster_;
  NodeId node_ = 0;
  Rank rank_ = 0;
  Rank number_ = 0;
  SchedulerLink scheduler_;
  Time deadline_;  // Of greeting or leaving.
  WaitNotes greeting_notes_{Time()};
  SchedulerSilence silence_;
  Heartbeats heartbeats_;
  Verdicts verdicts_;
  SuspendDetector wakefulness_;
};

}  // namespace stretto
