// SPDX-License-Identifier: Apache-2.0
// MembershipClient: a node's side of the membership protocol: hello, roster, heartbeats, timeout of
// the scheduler, leave. Only the scheduler decides on members.
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

/// Detects that this process was suspended (stopped, swapped out): it must not report timeouts that
/// elapsed meanwhile. Thread: loop.
class SuspendDetector {
 public:
  /// True if the gap since the last call shows a suspension.
  bool slept(Time now) {
    const bool long_gap = last_ != Time() && now - last_ > kGap;
    last_ = now;
    if (long_gap) woke_ = now;
    return long_gap;
  }
  /// True for a moment after slept(): heartbeats that arrived meanwhile may be unread.
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
    kGreeting,    ///< Hello sent, or connecting.
    kRendezvous,  ///< Welcomed; waits for the roster.
    kMember,      ///< Has a roster.
    kLeaving,     ///< Leave requested.
    kResigning,   ///< Failed, and waits until the scheduler has acknowledged the reason.
    kLeft,        ///< Left on request.
    kFailed,      ///< Ended with an error: status().
    kCutOff       ///< As kFailed, in an elastic job, which may continue without this node.
  };

  /// Role-specific fields of a node's hello.
  struct Self {
    std::uint32_t shard = 0;
    std::string address;  ///< Listening address; empty: a worker that accepts no connections.
  };

  MembershipClient(const Config& config, Self self, Van& van, const Clock& clock);

  /// `address`: this node's listening address, if unknown before.
  void start(std::string address = {});
  /// A control message on the scheduler's link. True if it was handled here: a roster, welcome,
  /// heartbeat, leave, failure, or fault of the whole job.
  bool on_control(LinkId link, const control::Message& message);
  /// True if it was the scheduler's link.
  bool on_broken(LinkId link, const Status& why);
  void tick();
  Time next_due() const;
  /// Heartbeats in both directions.
  Heartbeats& heartbeats() { return heartbeats_; }

  void leave();
  /// Ends the membership with an error, as if the scheduler had decided so. kCutOff: this node and
  /// the others have lost each other; with kCutOff a job of fixed size ends, too.
  void fail(Status why, State as = State::kFailed);
  /// Ends the membership with a local error (a signal, no memory), after telling the scheduler the
  /// reason: otherwise all members would only see broken links.
  void resign(Status why);
  /// Reports a broken link to a member. If the scheduler does not decide within a few seconds, the
  /// membership fails with `verdict`. The timeout is suspended while the scheduler is away, and
  /// restarts on its return.
  void report_broken(NodeId node, const Status& why, Status verdict);

  State state() const { return state_; }
  bool over() const { return state_ >= State::kLeft; }
  const Status& status() const { return status_; }
  const std::optional<Roster>& roster() const { return roster_; }
  NodeId node() const { return node_; }
  /// Member::number.
  Rank number() const { return number_; }
  const SchedulerLink& scheduler() const { return scheduler_; }
  /// The scheduler is awaited, or its heartbeats are overdue and it may be replaced. Meanwhile
  /// neither the scheduler nor this node decides that a member is lost.
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
  Time deadline_;  // Of the handshake, or of leaving.
  WaitNotes greeting_notes_{Time()};
  SchedulerSilence silence_;
  Heartbeats heartbeats_;
  Verdicts verdicts_;
  SuspendDetector wakefulness_;
};

}  // namespace stretto
