// SPDX-License-Identifier: Apache-2.0
// MigrationService: receives requests for server migrations, carries out the decisions of
// ServerMigrations, and dismisses servers that have been replaced.
#pragma once

#include <utility>
#include <vector>

#include "common/clock.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/launcher/exit_notices.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/migration/server_drains.h"
#include "scheduler/migration/server_migrations.h"
#include "scheduler/monitoring/job_monitor.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class MigrationService {
 public:
  /// All outlive this. `launcher`: the process starter; null: none that reports exits.
  MigrationService(const Config& config, const Clock& clock, Van& van, const NodeLinks& links,
                   const ViewMachine& machine, MembershipJournal& chronicle, JobMonitor& watch,
                   ExitNotices* launcher)
      : config_(config),
        clock_(clock),
        van_(van),
        links_(links),
        machine_(machine),
        chronicle_(chronicle),
        watch_(watch),
        launcher_(launcher),
        are_kept_(config.job.replicated()),
        moves_(config, launcher != nullptr),
        farewells_(config) {}

  /// A server asks for its own replacement, or a tool for a server's.
  void ask(LinkId link, const control::Move& wanted);
  /// This tool has gone.
  void forget(LinkId link);
  /// Checks a request to join: an error if it comes from a server that has been given up.
  Result<Join> wanted(Result<Join> join) const;
  /// The server was rejected. If the launcher started it and other servers hold the rank, the
  /// launcher drops it and does not restart it.
  void turned_away(const Join& join);
  /// Like ask() for a draining member; no effect unless it is a server. False: a standby out of
  /// sync, already answered; give it up before any report that it is in sync.
  bool ask_for(const Member& member, LinkId link);
  /// Dismisses members that the view no longer has, unless they have failed.
  void part_with_moved(const Publish& order);
  /// The launcher reports exits of processes. Returns these, and the exits of external servers
  /// since the last call, as reported by their requesters.
  std::vector<MemberExit> note_ends(std::vector<MemberExit> ends);
  void tick();
  Time next_due() const { return moves_.next_due(); }
  /// Processes to start, since the beginning of the job.
  const std::vector<MigrationOrder>& orders() const { return moves_.orders(); }

 private:
  Status refusal(const control::Move& wanted) const;
  void answer(LinkId link, const control::Move& wanted);
  void hear_end(LinkId link, Rank server);
  void drop(Rank server);
  /// Tells the requester which servers to start.
  Status invite(LinkId link, const control::Move& wanted);
  void give_up(const MigrationResult& answer);

  const Config& config_;
  const Clock& clock_;
  Van& van_;
  const NodeLinks& links_;
  const ViewMachine& machine_;
  MembershipJournal& chronicle_;
  JobMonitor& watch_;
  ExitNotices* const launcher_;
  std::vector<MemberExit> guests_ended_;
  std::vector<std::pair<LinkId, control::Move>> waiting_;  // Until members have re-registered.
  const bool are_kept_;  // Standbys stay standbys until the job ends.
  ServerMigrations moves_;
  ServerDrains farewells_;
};

/// True if this server has left the view because another replaced it, without a failure.
bool has_moved(const Member& gone, const View& view);

/// Logs a new standby. Call it before the event; the first view and repeated reports log nothing.
void tell_of_standby(const StandbyCaughtUp& caught, const View& view);

}  // namespace stretto
