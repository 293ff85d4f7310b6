// SPDX-License-Identifier: Apache-2.0
// DrainPlan: a host of the job is about to be taken away, as its agent has been told: what runs
// there and is to go elsewhere, or why that cannot be. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/launch/plan/plan.h"
#include "tools/launch/plan/replacement_site.h"

namespace stretto::launch {

struct DrainPlan {
  enum class Way : std::uint8_t {
    kInVain,      ///< Nothing can move: the notice is one for the whole job.
    kLeaves,      ///< Its members are asked to go, and others take their places on other hosts.
    kBeginsAgain  ///< The job cannot do without who is there: it begins again on the others.
  };
  Way way = Way::kInVain;
  std::string why = {};                   ///< In words; empty if it leaves.
  std::vector<std::size_t> members = {};  ///< That run there.
};

/// What follows of a notice to the host of this site. `gathered`: the job has come together, and
/// is not about to end.
DrainPlan departure_of(std::size_t site, const Plan& plan, const JobSites& sites, bool gathered);

}  // namespace stretto::launch
