// SPDX-License-Identifier: Apache-2.0
// Supervisor: decides what follows when processes end, signals arrive or time passes. It only
// decides: events and the time go in, orders to start and signal processes come out, so that every
// rule is tested without a process. It keeps JobEvidence; LossDetector finds losses, Lifecycle the
// phase, and judge() the root cause.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/launch_protocol/status_lines.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/process/process_events.h"
#include "tools/launch/supervision/evidence.h"
#include "tools/launch/supervision/going_on.h"
#include "tools/launch/supervision/lifecycle.h"
#include "tools/launch/supervision/loss_detector.h"
#include "tools/launch/supervision/restart_policy.h"
#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch {

struct Ended {
  std::size_t member;  ///< Index into the members.
  Exit exit;
};

/// A member that starts in place of another.
struct Restart {
  std::size_t member;
  std::size_t instead_of;
  std::optional<std::size_t> site = {};  ///< None: where the other member ran, if possible.

  friend bool operator==(const Restart&, const Restart&) = default;
};

struct Reaction {
  std::vector<std::size_t> starts;  ///< Members to start, each while may_start().
  std::vector<Restart> restarts;    ///< Members to start in place of others.
  std::vector<SignalOrder> orders;
  std::vector<std::string> notes;  ///< Lines for the user.
};

/// Thread: loop.
class Supervisor {
 public:
  /// `sizing`: members whose loss may not end the job. The last `spares` of the members start when
  /// a worker is lost.
  Supervisor(const std::vector<JobMember>& members, const Limits& limits, Time now,
             GoingOn::Sizing sizing = GoingOn::Sizing::kFixed, std::size_t spares = 0,
             std::uint32_t server_restarts = 0);

  /// `member` runs. From then on it must end before the launch is over.
  void on_spawned(std::size_t member);
  /// `member` could not run, even if on_spawned() was called: all others are stopped immediately.
  Reaction on_refused(std::size_t member, int exit_status, Status why, Time now);
  /// The scheduler listens: the other members start, unless the launch is about to end.
  Reaction on_ready();
  /// Formation of the job, as its scheduler reports it. Later exits may be reported earlier.
  Reaction on_gathering(JobFormation gathering, Time now);
  /// The job continues without this member, or it has rejoined; or it is the silent scheduler.
  /// `dropped`: a server that is not replaced: another is primary, or it was a replacement.
  Reaction on_loss_news(std::size_t member, bool is_back, Time now, bool dropped = false);
  /// `guests` external workers are in the job; the scheduler repeats this report.
  Reaction on_guests(std::uint32_t guests, Time now);
  /// The scheduler will never report its address, or cannot start.
  Reaction on_never_ready(Status why, Time now);
  /// Processes found ended in one iteration, unordered. `orphans`: running processes that ended
  /// members left behind.
  Reaction on_ended(std::span<const Ended> ended, std::size_t orphans, Time now);
  /// A host is lost with these members, at least one, whether they ran or not. `since`: when it was
  /// lost, which may be earlier than `now`, when the cause is known.
  Reaction on_host_lost(std::span<const std::size_t> members, Status why, Time since, Time now);
  /// The launcher itself was sent SIGINT, SIGTERM or SIGHUP.
  Reaction on_signal(int signal, Time now);
  /// Another sender signalled all processes of some host. This report may arrive after the ends
  /// that the signal caused.
  Reaction on_notice(int signal, Time now);
  /// `member` has named the cause of its failure in its last line, possibly reported after its end.
  Reaction on_statement(std::size_t member, ErrorLine statement, Time now);
  /// Time has passed; needed at deadline().
  Reaction on_time(Time now);

  /// The scheduler (0) may restart in a failed job as well: it tells the others the cause.
  bool may_start(std::size_t member = 1) const {
    const bool tells = lifecycle_.phase() == Phase::kSettling && !evidence_.all_ended();
    return lifecycle_.phase() == Phase::kRunning || (member == 0 && tells);
  }
  bool over() const { return lifecycle_.phase() == Phase::kOver; }
  std::optional<Time> deadline() const;
  const JobEvidence& evidence() const { return evidence_; }
  friend bool runs(const Supervisor& supervisor);
  friend void note_joined(Supervisor& supervisor, std::optional<Rank> worker);
  friend void note_asked(Supervisor& supervisor, std::size_t member);
  friend Reaction note_left(Supervisor& supervisor, std::optional<Rank> worker, Time now);
  friend Reaction note_missed(Supervisor& supervisor, std::optional<Rank> worker, Time now);
  friend std::vector<std::size_t> ended_with_host(const std::vector<std::size_t>& members,
                                                  const Status& why, const Supervisor& supervisor);
  friend Reaction watch_again(Supervisor& supervisor, const std::vector<std::size_t>& members,
                              const std::string& name);
  friend Reaction begin_move(Supervisor& supervisor, const Restart& wanted);
  AttemptOutcome outcome() const;  ///< After over().

 private:
  using Phase = Lifecycle::Phase;
  using Step = Lifecycle::Step;

  void record(const Ended& ended, Time now, Reaction& reaction);
  Lifecycle::Facts facts() const;
  void take_losses(Time now);
  std::string news();
  void take(Step step, Phase before, Reaction& reaction);

  const Limits limits_;
  JobEvidence evidence_;
  Lifecycle lifecycle_;
  LossDetector losses_;
  GoingOn going_on_;
  std::size_t orphans_ = 0;
  std::uint32_t told_by_ = 0;   // Scheduler restarts in a job that had failed.
  bool await_orphans_ = false;  // They were asked to end, and have until the deadline.
  bool hopeless_ = false;       // The job was never complete: no time to settle.
  std::vector<std::optional<JobMember>> announced_;  // Losses that were reported to the user.
};

}  // namespace stretto::launch
