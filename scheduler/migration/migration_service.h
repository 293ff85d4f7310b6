// SPDX-License-Identifier: Apache-2.0
// MigrationService: where places of servers are asked for and handed over: what Moves decides,
// carried out, and the farewell of a server whose place is another's.
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
  /// All outlive this. `launcher`: who starts processes; null: somebody who says nothing.
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

  /// A server asks that another have its place, or a tool that another have that server's.
  void ask(LinkId link, const control::Move& wanted);
  /// This tool has gone.
  void forget(LinkId link);
  /// Somebody asks to join: an error if it is a server that is not wanted any more.
  Result<Join> wanted(Result<Join> join) const;
  /// It was turned away. One of the launcher's, where somebody else was there before it, is not
  /// missed, and not started again for that.
  void turned_away(const Join& join);
  /// The same as ask() of a member for its own place; without effect if that is no server's. False:
  /// it has none yet, and is to be given up before anybody says that it has all; it is answered.
  bool ask_for(const Member& member, LinkId link);
  /// Those that the view has no more, without having lost them, may go.
  void part_with_moved(const Publish& order);
  /// Processes have ended, as their launcher says: these, and those of guests since the last call,
  /// as who has started them says.
  std::vector<MemberExit> note_ends(std::vector<MemberExit> ends);
  void tick();
  Time next_due() const { return moves_.next_due(); }
  /// Processes that are to be started, since the beginning.
  const std::vector<MigrationOrder>& orders() const { return moves_.orders(); }

 private:
  Status refusal(const control::Move& wanted) const;
  void answer(LinkId link, const control::Move& wanted);
  void hear_end(LinkId link, Rank server);
  void drop(Rank server);
  /// Says which servers are to be started by who asks.
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
  std::vector<std::pair<LinkId, control::Move>> waiting_;  // For members to come again.
  const bool are_kept_;  // Those that stand by, for as long as the job lasts.
  ServerMigrations moves_;
  ServerDrains farewells_;
};

/// Of who has gone, and that view: it is a server whose place another has, without a loss.
bool has_moved(const Member& gone, const View& view);

/// A line about who stands by from now on; at first nobody has anything, and it may be told again.
/// Before it has happened.
void tell_of_standby(const StandbyCaughtUp& caught, const View& view);

}  // namespace stretto
