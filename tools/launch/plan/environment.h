// SPDX-License-Identifier: Apache-2.0
// What each process is told: the STRETTO names, and beside them the DMLC, BytePS and torchrun
// names, so that programs written for those start unchanged. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tools/launch/plan/plan.h"

namespace stretto::launch {

using Variables = std::map<std::string, std::string>;

/// A variable's value; empty if it is not set.
std::string value_of(const Variables& variables, const std::string& name);

/// What the variable is to a job's members, if anything sets it; else empty.
std::string told(const Plan& plan, const Variables& inherited, const std::string& variable);

/// Errors: InvalidArgument, where it is said how checkpoints are made or used, and not where.
Status check_checkpoints(const Plan& plan);

/// What a variable of seconds says to a job's members; the other time if it is none that they will
/// take.
Duration time_told(const Plan& plan, const Variables& inherited, const std::string& variable,
                   Duration otherwise);

/// Which of the schedulers of a job one is, and what lets it go on.
struct SchedulerIncarnation {
  std::string journal = {};    ///< Its path; empty: it does not come back.
  std::uint32_t life = 1;      ///< The how many-eth.
  std::uint32_t restarts = 0;  ///< That may follow.
};

/// Where the job meets, and what lets a process in.
struct Rendezvous {
  HostPort scheduler;  ///< Port 0 while only the scheduler itself is told: it binds a free one.
  std::string token;
  std::string
      master_host;  ///< Where worker 0 runs, for MASTER_ADDR; empty: where the scheduler does.
  SchedulerIncarnation scheduler_life = {};
};

/// What a process's host makes of it.
struct Seat {
  std::string bind_host;         ///< What it binds there; empty: loopback, or what the caller says.
  std::uint32_t local_rank = 0;  ///< Of a worker among those on its host,
  std::uint32_t local_size = 1;  ///< and how many these are.
};

/// True for the names that the launcher gives each process itself, so that nobody else may.
bool is_assigned(std::string_view name);

/// What --checkpoint, --checkpoint-every and --resume tell every process.
Variables checkpoint_variables(const Plan& plan);

/// What `member` is given on top of what the launcher's caller had (`inherited`).
///
/// A worker stands for a host of its own to BytePS (BYTEPS_LOCAL_SIZE=1, DMLC_WORKER_ID=rank), so
/// that DMLC_NUM_WORKER x BYTEPS_LOCAL_SIZE is the world size; LOCAL_RANK counts the workers of
/// its host. MASTER_ADDR and MASTER_PORT are for programs that also start torch.distributed:
/// nothing of ours listens there. The port is the caller's, or derived from the scheduler's, so
/// that jobs beside one another differ; it lies in 20000 to 29999, where the kernel gives none away
/// by itself.
Variables variables_for(const Plan& plan, const JobMember& member, const Rendezvous& rendezvous,
                        const Seat& seat, const Variables& inherited);

/// A worker gets OMP_NUM_THREADS=1, as torchrun has it: several workers run on its host, and the
/// caller has not chosen a number. Else each would use all processors.
bool limits_threads(const Plan& plan, const Seat& seat, const Variables& inherited);

/// Of the caller's variables those that mean the same on another host: not its home, terminal,
/// session, addresses, or its place in an allocation.
Variables portable(const Variables& inherited);

/// The whole environment of a process: `inherited` without stale names of another job, then
/// `given`.
Variables merged(Variables inherited, const Variables& given);

/// What the caller has set in vain, a sentence each: the scheduler and the size of a job that are
/// not this launch's. None in a job that another launcher's process starts.
std::vector<std::string> overridden(const Plan& plan, const Variables& inherited);

/// What a Slurm allocation offers and a launch on this host leaves unused; empty: nothing.
std::string allocation_note(const Variables& inherited);

}  // namespace stretto::launch
