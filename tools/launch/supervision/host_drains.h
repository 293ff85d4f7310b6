// SPDX-License-Identifier: Apache-2.0
// HostDrains: hosts whose agents have been told that they are about to be taken away. What runs
// there is asked to go, others come for it elsewhere, and nothing is started there any more; all
// within a time that is given.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/clock.h"
#include "tools/launch/plan/host_drain.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch {

/// Thread: loop.
class HostDrains {
 public:
  /// What is done about it.
  struct Ways {
    std::function<void(const Reaction&)> react;
    std::function<void(std::size_t site)> release;  ///< Nothing of the job runs there any more.
    std::function<void(std::size_t site, Status why)> give_up;  ///< The job ends without it.
    std::function<void()> save;  ///< A checkpoint is wanted, as soon as there can be one.
  };

  /// All outlive this. `drain`: how long a host has to be emptied.
  HostDrains(const Plan& plan, Duration drain, const JobSites& sites, Supervisor& supervisor,
             Ways ways)
      : plan_(plan),
        drain_(drain),
        sites_(sites),
        supervisor_(supervisor),
        ways_(std::move(ways)) {}

  /// The agent of this site was sent SIGTERM. False: nothing can move, and it is a notice for all.
  bool take(std::size_t site, Time now);
  /// Nothing is to be started there.
  bool leaves(std::size_t site) const { return leaving_.contains(site); }
  /// Names of those hosts: the job does not begin again there.
  std::vector<std::string> names() const;
  /// A checkpoint was asked for, and has not been made.
  bool awaits_checkpoint() const;
  /// Once a turn. `saved`: the step of the last checkpoint.
  void step(Time now, std::optional<std::uint64_t> saved);
  std::optional<Time> deadline() const;

 private:
  struct Leaving {
    DrainPlan what;
    std::string name;
    Time deadline;
    bool is_over = false;
    bool has_killed = false;  // Its time is over, and ends are awaited.
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
  std::set<std::size_t> replaced_;          // Workers that have left in order.
  std::optional<std::uint64_t> last_saved_;
  bool saved_ = false;  // Another since it was asked for.
};

}  // namespace stretto::launch
