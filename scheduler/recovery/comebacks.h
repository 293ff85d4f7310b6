// SPDX-License-Identifier: Apache-2.0
// Comebacks: members that have lost their scheduler re-register with its successor, or with the
// same one: whether they may, what they are told, and which are still missing.
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

/// In the order of role, rank and shard; empty before the first view.
std::vector<Member> members_of(const ViewMachine& machine);

/// Whether a member may continue with this scheduler, of this job and incarnation. Errors: PeerLost
/// or ServerLost, if the job has gone on without it. Refused, with the expected and actual value,
/// if it is no member of this job or knows a later scheduler. `departed`: the member of this node
/// id if it has left; else null.
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

  /// All members must re-register. The losses that the launcher must learn of are known.
  void begin();
  /// The hello of a worker that a previous scheduler admitted but that never received the reply,
  /// changed to that of a re-registration. Only of joining workers, which hold no state of the job
  /// yet.
  control::Hello recognized(control::Hello hello, std::uint64_t job) const;
  /// The standby that a previous scheduler admitted but that never received the reply, and that now
  /// registers again; 0: none. Its earlier node id is dead.
  NodeId forgotten(const Join& join) const;
  /// Re-registers a member, which repeats its open requests. Errors: why it may not.
  Status take(LinkId link, const control::Hello& hello, std::uint64_t job);
  /// A sign of life has come over a member's link: its earlier messages have arrived by then.
  void heard(NodeId node) { unheard_.erase(node); }
  /// Processes of these members have exited. Their links end soon, or have; a command may also exit
  /// and leave its member running. Returns the members without a link to the scheduler: these will
  /// not re-register. For a primary, only its standby can tell whether it is in sync. Call once per
  /// iteration.
  std::vector<NodeId> end_with(std::vector<MemberExit> ends);
  /// Another member reports a broken link to this one. If this one has yet to re-register, the
  /// report is held until it has, or is expelled.
  std::optional<Suspicion> weigh(const Suspicion& suspicion);
  /// Held reports that are due now.
  std::vector<Suspicion> take_weighed();
  /// Call once per iteration.
  void tick();

  /// The settings that members must use.
  JobSettings settings() const;
  /// The roster of the last view without its members.
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
  std::optional<Time> since_;          // A member has yet to re-register.
  std::set<NodeId> unheard_;           // Standbys that may be in sync.
  std::vector<MemberExit> put_off_;    // Until these standbys have reported, or failed.
  std::vector<Suspicion> suspicions_;  // Reports about members yet to re-register.
  std::size_t news_before_ = 0;        // Losses that previous schedulers reported.
};

}  // namespace stretto
