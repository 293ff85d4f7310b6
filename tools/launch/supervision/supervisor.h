// SPDX-License-Identifier: Apache-2.0
// Supervisor: what to do next when processes end, signals come or time passes. It decides and never
// acts: events and the time go in, orders to start and signal processes come out, so that every
// rule is tested without a process. What it learns is kept as JobEvidence; who is lost a
// LossDetector says, what phase follows the Lifecycle, and who is to blame judge().
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

/// One member that is to be run in the place of another.
struct Restart {
  std::size_t member;
  std::size_t instead_of;
  std::optional<std::size_t> site = {};  ///< Where; none: where the other ran, if that can be.

  friend bool operator==(const Restart&, const Restart&) = default;
};

struct Reaction {
  std::vector<std::size_t> starts;  ///< Members to be run, each as long as may_start().
  std::vector<Restart> restarts;    ///< The same, where others ran.
  std::vector<SignalOrder> orders;
  std::vector<std::string> notes;  ///< What the user should read, a line each.
};

/// Thread: loop.
class Supervisor {
 public:
  /// `sizing`: whose loss may not end the job. The last `spares` of the members are started when a
  /// worker has been lost.
  Supervisor(const std::vector<JobMember>& members, const Limits& limits, Time now,
             GoingOn::Sizing sizing = GoingOn::Sizing::kFixed, std::size_t spares = 0,
             std::uint32_t server_restarts = 0);

  /// `member` runs now. From then on it must end before the launch is over.
  void on_spawned(std::size_t member);
  /// `member` could not be run, even if on_spawned() came before: all others are stopped at once.
  Reaction on_refused(std::size_t member, int exit_status, Status why, Time now);
  /// The scheduler listens: the rest is to be started, unless the launch is about to end.
  Reaction on_ready();
  /// How far the job has come together, by its scheduler. Later ends may be heard of earlier.
  Reaction on_gathering(JobFormation gathering, Time now);
  /// The job goes on without this member, or it comes again; or it is the scheduler, and silent.
  /// `dropped`: a server for which nobody comes: another has its place, or it was to have one.
  Reaction on_loss_news(std::size_t member, bool is_back, Time now, bool dropped = false);
  /// So many workers are in that were started elsewhere, which the scheduler repeats as they last.
  Reaction on_guests(std::uint32_t guests, Time now);
  /// The scheduler will never say where it listens, or not even be started.
  Reaction on_never_ready(Status why, Time now);
  /// Processes found ended in one look, in no order. `orphans`: processes that were left behind by
  /// ended members and still run.
  Reaction on_ended(std::span<const Ended> ended, std::size_t orphans, Time now);
  /// A host is gone, and with it these members, at least one, whether they ran or not. `since`:
  /// when it went, which may be earlier than `now`, when it is known why.
  Reaction on_host_lost(std::span<const std::size_t> members, Status why, Time since, Time now);
  /// The launcher itself was sent SIGINT, SIGTERM or SIGHUP.
  Reaction on_signal(int signal, Time now);
  /// All processes of some host were sent this, by somebody else. It may be heard of after the ends
  /// that it brought about.
  Reaction on_notice(int signal, Time now);
  /// `member` has said in its last line what it failed of. It may be told after its end.
  Reaction on_statement(std::size_t member, ErrorLine statement, Time now);
  /// Time has passed; needed at deadline().
  Reaction on_time(Time now);

  /// The scheduler (0) may be run again in a job that has failed, too: it tells the others why.
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
  AttemptOutcome outcome() const;  ///< Once over().

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
  std::uint32_t told_by_ = 0;   // Schedulers that were run again in a job that had failed.
  bool await_orphans_ = false;  // They were told to end, and have until the deadline.
  bool hopeless_ = false;       // The job never came together: no time to settle.
  std::vector<std::optional<JobMember>> announced_;  // Losses that the user has read of.
};

}  // namespace stretto::launch
