// SPDX-License-Identifier: Apache-2.0
// Placement: which process of the job runs on which host, and by which program processes get there.
// Pure: what is around us is handed in.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// A host that takes part, or with mpirun a rank, whose host is known once it has come.
struct Site {
  std::string name;
  bool here = false;

  friend bool operator==(const Site&, const Site&) = default;
};

struct Placement {
  Via via = Via::kLocal;
  std::vector<Site> sites;           ///< The first is the launcher's own host, and alone is `here`.
  std::vector<std::size_t> site_of;  ///< By member, in members_of's order.
  std::uint32_t workers = 0;

  bool only_here() const { return sites.size() == 1; }
  /// Members of a site, in order.
  std::vector<std::size_t> members_at(std::size_t site) const;
};

/// What a batch system has given to whoever started the launcher.
struct Allocation {
  std::string name;                  ///< "Slurm job 17".
  std::vector<std::uint32_t> slots;  ///< By node.

  std::uint32_t all_slots() const;
  /// The part that `plan` takes: the first --nnodes nodes, with --nproc-per-node slots each.
  Allocation part_for(const Plan& plan) const;
};

/// The Slurm allocation that we are in, if we are. Errors: Malformed, naming a variable of Slurm's;
/// Unsupported for a heterogeneous job; InvalidArgument if SLURM_JOB_ID stands alone.
Result<std::optional<Allocation>> slurm_allocation(const Variables& inherited);

/// How processes are started: as --via says; else by ssh if another host is named, by srun in an
/// allocation of Slurm, and here otherwise.
Via via_of(const Plan& plan, const Variables& inherited,
           const std::function<bool(const std::string&)>& is_here);

/// Refuses what would start many jobs instead of one: a launcher that mpirun or srun has started
/// more than once, unless --via local was given.
Status require_one_launcher(const Plan& plan, const Variables& inherited);

/// So many workers the job begins with: fewer than MAX of an elastic one, if there are fewer slots
/// and still MIN. 0 slots: nobody has said how many.
std::uint32_t workers_that_fit(const Plan& plan, std::uint64_t slots);

/// Workers fill the slots host by host, as mpirun does; servers take no slots, and go to the hosts
/// in turn, or as --server-hostfile says; the scheduler runs here, or as --scheduler-host says.
/// Errors: InvalidArgument if there are too few slots, with wanted and found.
Result<Placement> place(const Plan& plan, const Variables& inherited,
                        const std::function<bool(const std::string&)>& is_here);

/// A worker's place among the workers on its host.
struct LocalRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;

  friend bool operator==(const LocalRank&, const LocalRank&) = default;
};

/// By member; for workers. `machines`: what each site's host calls itself, by site.
std::vector<LocalRank> local_ranks(const std::vector<JobMember>& members,
                                   const Placement& placement,
                                   const std::vector<std::string>& machines);

}  // namespace stretto::launch
