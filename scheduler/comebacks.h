// SPDX-License-Identifier: Apache-2.0
// Comebacks: members that have lost their scheduler come again to the one that has taken its place,
// or to the same one: whether they may, what they are told, and who has yet to come.
#pragma once

#include <optional>

#include "common/clock.h"
#include "common/config.h"
#include "core/roster.h"
#include "scheduler/chronicle.h"
#include "scheduler/node_links.h"
#include "scheduler/view_machine.h"
#include "scheduler/watch/job_watch.h"
#include "van/van.h"

namespace stretto {

/// In the order of their places; nobody before the first view.
std::vector<Member> members_of(const ViewMachine& machine);

/// Whether a member may go on with this scheduler, of this job and life. Errors: PeerLost or
/// ServerLost, if the job has gone on without it; Refused, with what was wanted and found, if it is
/// none of this job's, or this scheduler is not the one that it should go on with.
Status check_comeback(const control::Hello& hello, const View& view, std::uint64_t job,
                      std::uint32_t life);

/// Thread: loop.
class Comebacks {
 public:
  /// All outlive this.
  Comebacks(const Config& config, const Clock& clock, Van& van, NodeLinks& links,
            const ViewMachine& machine, const Chronicle& chronicle, const JobWatch& watch)
      : config_(config),
        clock_(clock),
        van_(van),
        links_(links),
        machine_(machine),
        chronicle_(chronicle),
        watch_(watch) {}

  /// All members are to come again.
  void begin();
  /// One does. It asks again for what it waits for. What is wrong, if it may not.
  Status take(LinkId link, const control::Hello& hello, std::uint64_t job);
  /// Once a turn.
  void tick();

  /// What members are told to go by.
  JobSettings settings() const;
  /// What a roster of the last view says, but for its members.
  Roster head() const;

 private:
  Roster roster() const;

  const Config& config_;
  const Clock& clock_;
  Van& van_;
  NodeLinks& links_;
  const ViewMachine& machine_;
  const Chronicle& chronicle_;
  const JobWatch& watch_;
  std::optional<Time> since_;  // Somebody has yet to come.
};

}  // namespace stretto
