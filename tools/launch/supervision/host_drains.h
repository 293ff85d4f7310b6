// SPDX-License-Identifier: Apache-2.0
// HostDrains: hosts whose agents received a preemption notice. Their members are asked to leave,
// replacements start on other hosts, and no process starts there any more; all within a time limit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/clock.h"
#include "tools/launch/plan/drain_plan.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// Thread: loop.
class HostDrains {
 public:
  /// Actions of the launcher.
  struct Ways {
    std::function<void(const Reaction&)> react;
    std::function<void(std::size_t site)> release;  ///< No process of the job runs there any more.
    std::function<void(std::size_t site, Status why)> give_up;  ///< The job ends without this host.
    std::function<void()> save;  ///< Requests a checkpoint as soon as possible.
  };

  /// All arguments must outlive this. `drain`: the time limit for emptying a host.
  HostDrains(const Plan& plan, Duration drain, const JobSites& sites, Supervisor& supervisor,
             Ways ways)
      : plan_(plan),
        drain_(drain),
        sites_(sites),
        supervisor_(supervisor),
        ways_(std::move(ways)) {}

  /// The agent of this site got SIGTERM. False: no member can move, so the notice is the job's.
  bool take(std::size_t site, Time now);
  /// No process may start there.
  bool leaves(std::size_t site) const { return leaving_.contains(site); }
  /// Names of those hosts: a restarted job avoids them.
  std::vector<std::string> names() const;
  /// A checkpoint was requested, and is not complete.
  bool awaits_checkpoint() const;
  /// Call it once per iteration. `saved`: the step of the last checkpoint.
  void step(Time now, std::optional<std::uint64_t> saved);
  std::optional<Time> deadline() const;

 private:
  struct Leaving {
    DrainPlan what;
    std::string name;
    Time deadline;
    bool is_over = false;
    bool has_killed = false;  // Its time is over; its members were killed.
  };

  void look(std::size_t site, Leaving& host, Time now);
  void replace(Leaving& host);
  bool has_finished() const;
  void end(std::size_t site, Leaving& host, std::string_view how);

  const Plan& plan_;
  const Duration drain_;
  const JobSites& sites_;
  Supervisor& supervisor_;
  const Ways ways_;
  std::map<std::size_t, Leaving> leaving_;  // By site.
  std::set<std::size_t> replaced_;          // Workers that have left.
  std::optional<std::uint64_t> last_saved_;
  bool saved_ = false;  // A checkpoint was made since the request.
};

}  // namespace stretto::launch
