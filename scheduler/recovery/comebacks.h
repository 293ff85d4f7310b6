// SPDX-License-Identifier: Apache-2.0
// Comebacks: members that have lost their scheduler come again to the one that has taken its place,
// or to the same one: whether they may, what they are told, and who has yet to come.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/launch_protocol/exit_lines.h"
#include "core/roster.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/monitoring/job_monitor.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"

namespace stretto {

/// In the order of their places; nobody before the first view.
std::vector<Member> members_of(const ViewMachine& machine);

/// Whether a member may go on with this scheduler, of this job and life. Errors: PeerLost or
/// ServerLost, if the job has gone on without it; Refused, with what was wanted and found, if it is
/// none of this job's, or this scheduler is not the one that it should go on with.
/// `departed`: the member of this identity, if it has gone; else null.
Status check_comeback(const control::Hello& hello, const View& view, const Member* departed,
                      std::uint64_t job, std::uint32_t life);

/// Thread: loop.
class Comebacks {
 public:
  /// All outlive this.
  Comebacks(const Config& config, const Clock& clock, Van& van, NodeLinks& links,
            const ViewMachine& machine, const MembershipJournal& chronicle, const JobMonitor& watch)
      : config_(config),
        clock_(clock),
        van_(van),
        links_(links),
        machine_(machine),
        chronicle_(chronicle),
        watch_(watch) {}

  /// All members are to come again. What the launcher has to hear of the time before is known.
  void begin();
  /// Somebody says hello as if for the first time, whom a scheduler before this one has admitted,
  /// and who has not heard so: its hello as that member. Only of workers on their way into the job,
  /// of whom nobody has anything yet.
  control::Hello recognized(control::Hello hello, std::uint64_t job) const;
  /// A server comes for the first time that a scheduler before this one has let stand by, and that
  /// has not heard so: who that was, of whom nobody hears any more. 0: nobody.
  NodeId forgotten(const Join& join) const;
  /// One does. It asks again for what it waits for. What is wrong, if it may not.
  Status take(LinkId link, const control::Hello& hello, std::uint64_t job);
  /// A sign of life has come by a member's link: it has said by then what it had to say.
  void heard(NodeId node) { unheard_.erase(node); }
  /// Processes of these members have ended. Their links end with them, or have. Not more than that
  /// follows: a command's process may have ended and left the member behind. Returned are those of
  /// them that have no link to here, as they have yet to come again: they will not. Of a server
  /// that only once who stands by for it can say whether it has all. To be called once a turn.
  std::vector<NodeId> end_with(std::vector<MemberExit> ends);
  /// A link to this member broke, as another one says. While it has yet to come again that says
  /// nothing about the link: it is put off until it has, or is lost.
  std::optional<Suspicion> weigh(const Suspicion& suspicion);
  /// Those that were, and are to be looked at now.
  std::vector<Suspicion> take_weighed();
  /// Once a turn.
  void tick();

  /// What members are told to go by.
  JobSettings settings() const;
  /// What a roster of the last view says, but for its members.
  Roster head() const;

 private:
  Roster roster() const;
  bool may_have_heir(const Member& member) const;

  const Config& config_;
  const Clock& clock_;
  Van& van_;
  NodeLinks& links_;
  const ViewMachine& machine_;
  const MembershipJournal& chronicle_;
  const JobMonitor& watch_;
  std::optional<Time> since_;          // Somebody has yet to come.
  std::set<NodeId> unheard_;           // Of those who stand by and may have all.
  std::vector<MemberExit> put_off_;    // Until these have been heard, or are lost.
  std::vector<Suspicion> suspicions_;  // The same, of those who have yet to come.
  std::size_t news_before_ = 0;        // Of losses, by schedulers before this one.
};

}  // namespace stretto
