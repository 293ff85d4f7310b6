// SPDX-License-Identifier: Apache-2.0
// Environment of each process: the STRETTO names, and the DMLC, BytePS and torchrun names, so that
// programs written for those start unchanged. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tools/launch/plan/plan.h"

namespace stretto::launch {

using Variables = std::map<std::string, std::string>;

/// A variable's value; empty if it is not set.
std::string value_of(const Variables& variables, const std::string& name);

/// The variable's value for the job's members; empty if it is not set.
std::string told(const Plan& plan, const Variables& inherited, const std::string& variable);

/// Errors: InvalidArgument if checkpoint options are set without a checkpoint folder.
Status check_checkpoints(const Plan& plan);

/// A variable in seconds, as the job's members read it; `otherwise` if they would reject it.
Duration time_told(const Plan& plan, const Variables& inherited, const std::string& variable,
                   Duration otherwise);

/// An incarnation of the job's scheduler, with its journal.
struct SchedulerIncarnation {
  std::string journal = {};    ///< Path of the journal; empty: the scheduler is not restarted.
  std::uint32_t life = 1;      ///< Incarnation of the scheduler.
  std::uint32_t restarts = 0;  ///< Restarts left.
};

/// The job's rendezvous addresses, and the secret that admits a process.
struct Rendezvous {
  HostPort scheduler;  ///< 0 in the scheduler's own variables: it binds a free port.
  std::string token;
  std::string
      master_host;  ///< Where worker 0 runs, for MASTER_ADDR; empty: where the scheduler does.
  SchedulerIncarnation scheduler_life = {};
};

/// Properties that depend on the process's host.
struct Seat {
  std::string bind_host;         ///< Bind address; empty: loopback, or the caller's value.
  std::uint32_t local_rank = 0;  ///< A worker's rank on its host,
  std::uint32_t local_size = 1;  ///< and the number of workers there.
};

/// True for names that only the launcher may set.
bool is_assigned(std::string_view name);

/// Checkpoint variables of every process, from --checkpoint, --checkpoint-every and --resume.
Variables checkpoint_variables(const Plan& plan);

/// Variables of `member` on top of the caller's (`inherited`).
///
/// BytePS sees each worker as a host (BYTEPS_LOCAL_SIZE=1, DMLC_WORKER_ID=rank), so that
/// DMLC_NUM_WORKER x BYTEPS_LOCAL_SIZE is the world size; LOCAL_RANK counts the workers of a host.
/// MASTER_ADDR and MASTER_PORT are for programs that also start torch.distributed: Stretto does not
/// listen there. The port is the caller's, or derived from the scheduler's, so that concurrent jobs
/// differ. It lies in 20000 to 29999, outside the kernel's ephemeral ports.
Variables variables_for(const Plan& plan, const JobMember& member, const Rendezvous& rendezvous,
                        const Seat& seat, const Variables& inherited);

/// A worker gets OMP_NUM_THREADS=1, as with torchrun: several workers run on its host, and the
/// caller has not chosen a number. Otherwise each worker would use all processors.
bool limits_threads(const Plan& plan, const Seat& seat, const Variables& inherited);

/// The caller's variables that are valid on another host: not its home, terminal, session,
/// addresses, or position in an allocation.
Variables portable(const Variables& inherited);

/// The whole environment of a process: `inherited` without stale names of another job, then
/// `given`.
Variables merged(Variables inherited, const Variables& given);

/// A sentence for each variable of the caller that has no effect: this launch sets the scheduler
/// and the job size. Empty for a job that another launcher's process starts.
std::vector<std::string> overridden(const Plan& plan, const Variables& inherited);

/// Resources of a Slurm allocation that a local launch leaves unused; empty: none.
std::string allocation_note(const Variables& inherited);

}  // namespace stretto::launch
