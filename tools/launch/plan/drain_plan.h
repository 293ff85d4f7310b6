// SPDX-License-Identifier: Apache-2.0
// DrainPlan: the reaction to a preemption notice of a host: which of its members move to other
// hosts, or why they cannot. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/launch/plan/plan.h"
#include "tools/launch/plan/replacement_site.h"

namespace stretto::launch {

struct DrainPlan {
  enum class Way : std::uint8_t {
    kInVain,      ///< No member can move: the whole job must end.
    kLeaves,      ///< Its members leave, and replacements start on other hosts.
    kBeginsAgain  ///< The job needs its members: it restarts on the other hosts.
  };
  Way way = Way::kInVain;
  std::string why = {};                   ///< The cause; empty if it leaves.
  std::vector<std::size_t> members = {};  ///< Members that run there.
};

/// Reaction to a notice for this site. `gathered`: all members have joined, and the job is not
/// about to end.
DrainPlan departure_of(std::size_t site, const Plan& plan, const JobSites& sites, bool gathered);

}  // namespace stretto::launch
