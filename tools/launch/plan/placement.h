// SPDX-License-Identifier: Apache-2.0
// Placement: which process of the job runs on which host, and which program starts processes there.
// Pure: the caller passes in the environment.
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

/// A host of the job; with mpirun a rank, whose host is known once its agent has connected.
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

/// Nodes that a batch system has allocated to the launcher.
struct Allocation {
  std::string name;                  ///< "Slurm job 17".
  std::vector<std::uint32_t> slots;  ///< By node.

  std::uint32_t all_slots() const;
  /// The part that `plan` takes: the first --nnodes nodes, with --nproc-per-node slots each.
  Allocation part_for(const Plan& plan) const;
};

/// The Slurm allocation of this process, if any. Errors: Malformed, naming a variable of Slurm's;
/// Unsupported for a heterogeneous job; InvalidArgument if only SLURM_JOB_ID is set.
Result<std::optional<Allocation>> slurm_allocation(const Variables& inherited);

/// The start method: --via if given; otherwise ssh if another host is named, srun in a Slurm
/// allocation, or a local start.
Via via_of(const Plan& plan, const Variables& inherited,
           const std::function<bool(const std::string&)>& is_here);

/// Rejects a launcher that mpirun or srun has started more than once, unless --via local is given:
/// it would start many jobs.
Status require_one_launcher(const Plan& plan, const Variables& inherited);

/// Initial number of workers. An elastic job starts with fewer than MAX if there are fewer slots,
/// but at least MIN. 0 slots: the number of slots is unknown.
std::uint32_t workers_that_fit(const Plan& plan, std::uint64_t slots);

/// Workers fill the slots host by host, as with mpirun. Servers take no slots: they are placed
/// round-robin, or by --server-hostfile. The scheduler runs here, or on --scheduler-host. Errors:
/// InvalidArgument if there are too few slots, with wanted and found.
Result<Placement> place(const Plan& plan, const Variables& inherited,
                        const std::function<bool(const std::string&)>& is_here);

/// A worker's rank among the workers of its host.
struct LocalRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;

  friend bool operator==(const LocalRank&, const LocalRank&) = default;
};

/// By member; for workers. `machines`: each host's own name, by site.
std::vector<LocalRank> local_ranks(const std::vector<JobMember>& members,
                                   const Placement& placement,
                                   const std::vector<std::string>& machines);

}  // namespace stretto::launch
