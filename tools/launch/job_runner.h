// SPDX-License-Identifier: Apache-2.0
// JobRunner: one attempt at a job, from its first process to its last. One thread and one epoll
// loop pass events of hosts to the Supervisor, and turn its orders into starts and signals. It does
// not decide what a failure means, how to reach a host, or where output goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/launch_protocol/migration_lines.h"
#include "tools/launch/job_announcement.h"
#include "tools/launch/plan/launch_context.h"
#include "tools/launch/plan/rendezvous.h"
#include "tools/launch/process/local_host.h"
#include "tools/launch/process/output_relay.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/process/signals.h"
#include "tools/launch/remote/remote_hosts.h"
#include "tools/launch/supervision/host_drains.h"
#include "tools/launch/supervision/restart_policy.h"
#include "tools/launch/supervision/scheduler_supervisor.h"
#include "tools/launch/supervision/statements.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// Thread: loop. Descriptors 0 to 2 must be open.
class JobRunner final : private RemoteHostEvents {
 public:
  /// `first`: true for the job's first attempt.
  JobRunner(const Plan& plan, const LaunchContext& ingredients, Signals& signals,
            const Clock& clock, bool first = true);

  /// Runs the attempt to its end; leaves no process behind.
  AttemptOutcome run();
  /// Prints the last line: the note on another attempt, or the error.
  void conclude(const std::vector<std::string>& notes, const Verdict& verdict);

 private:
  void on_refused(std::size_t member, Status why) override;
  void on_ready(std::string_view text) override;
  void on_output(std::size_t member, std::size_t stream, std::string_view bytes) override;
  void on_ended(std::size_t member, Exit exit) override;
  void on_here(RemoteHost&) override { begin_if_all_are_here(); }
  bool on_lost(RemoteHost& host, Status why, Time since) override;
  std::vector<std::size_t> on_awake(RemoteHost& host) override;
  void on_signalled(RemoteHost& host, int signal) override;
  void on_note(const RemoteHost& host, std::string_view line) override;

  Status prepare();
  void begin_if_all_are_here();
  void turn();
  std::optional<Duration> patience() const;
  void take_signals();
  void look_at_time();
  void start(std::size_t member);
  void tell_of_end(std::size_t index);
  void react(const Reaction& reaction);
  void balance();
  void finish();
  void wait_for_far_hosts();
  Host& host_of(std::size_t member);

  const bool first_;
  const Plan& plan_;
  const LaunchContext& ingredients_;
  Placement placement_;  // Includes spares once they are started.
  const Clock& clock_;
  const std::vector<JobMember> members_;
  SchedulerSupervisor seat_;
  Supervisor supervisor_;
  Signals& signals_;
  Poller poller_;
  std::vector<StatementReader> speech_{members_.begin(), members_.end()};
  OutputRelay relay_;
  LocalHost here_;
  RemoteHosts far_;
  std::vector<Ended> ended_;  // In this iteration.
  Meeting meeting_;
  std::vector<LocalRank> local_ranks_;
  std::optional<SavedCheckpoint> saved_;
  std::vector<std::string> lost_hosts_;
  HostPort scheduler_{"127.0.0.1", 0};
  JobAnnouncement announcement_;
  const JobSites sites_;
  HostDrains notices_;
  bool gathering_ = true;
  bool finishing_ = false;
  bool children_changed_ = false;
};

}  // namespace stretto::launch
