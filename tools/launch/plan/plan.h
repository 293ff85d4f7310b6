// SPDX-License-Identifier: Apache-2.0
// Plan: what one launch is to do, once the command line has been read and checked. Everything that
// follows (environments, processes, supervision) is derived from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "common/config/job_file.h"
#include "stretto/types.h"
#include "tools/launch/plan/flags.h"
#include "tools/launch/plan/hostfile.h"

namespace stretto::launch {

enum class Action : std::uint8_t { kRun, kDryRun, kCheck, kPrint, kAgent, kHelp, kVersion };

/// What starts processes on other hosts; kNodes: this launcher, started on each of them by hand.
enum class Via : std::uint8_t { kLocal, kSsh, kMpi, kSlurm, kNodes };

/// How long the launcher waits before its next, harder step.
struct Limits {
  Duration start = 60s;       ///< For the scheduler to say where it listens.
  Duration settle = 3s;       ///< After the first failure, for the others to end by themselves.
  Duration word = 6s;         ///< For a scheduler that runs to say that the job goes on.
  Duration again = 66s;       ///< For a worker that is lost and runs to come to the job again.
  Duration drain = 10s;       ///< After the last worker, for servers and scheduler to end.
  Duration apart = 1s;        ///< Instead of both, while the job has not come together.
  Duration absence = 5s;      ///< While others wait for who has ended without coming.
  Duration grace = 20s;       ///< Between the notice to end and SIGKILL.
  Duration reap = 5s;         ///< After SIGKILL, for the kernel to let go.
  std::uint32_t returns = 0;  ///< Members that may be run again; none: the scheduler does not.
  std::uint32_t places = 0;   ///< Of servers, where servers from elsewhere may have them; else 0.
  std::uint32_t least_workers = 0;  ///< Of an elastic job, so many must end well; else 0.
  Duration silence = 20s;           ///< Without a word of a host's agent, while the whole job runs,
  Duration late_silence = 5s;       ///< and once somebody has ended.
};

/// What the manifests for Kubernetes say besides.
struct Manifest {
  std::string name = "stretto";  ///< Of the job; begins the name of every object.
  std::string space;             ///< Namespace; empty: that of whoever applies them.
  std::string image;             ///< Empty: a placeholder, and a note that says so.
  std::string processors = "1";  ///< Asked for by each server and worker, as Kubernetes writes it.
  std::string memory = "1Gi";
};

/// A flag of the command line.
struct GivenFlag {
  Flag flag{};
  std::string spelling;  ///< As it is best typed, such as "--workers".
  std::string value;     ///< Empty for a switch.
};

struct Plan {
  Action action = Action::kRun;
  std::vector<GivenFlag> given;  ///< In the order of the command line.
  std::string name;              ///< --name: what the job is called; empty: as its program.
  std::uint32_t workers = 1;
  std::uint32_t least_workers = 0;  ///< The job goes on with so many; 0: a lost worker ends it.
  std::uint32_t restarts = 0;       ///< --restarts: of workers that are lost, and of the whole job.
  std::string checkpoint;           ///< --checkpoint: a folder; empty: none is kept.
  std::string resume;               ///< --resume: "auto", "no" or a path; empty: see the variable.
  std::optional<Duration> checkpoint_every;  ///< --checkpoint-every; zero: "auto".
  std::uint32_t failures = 0;                ///< Of attempts before this one,
  Duration ran{};                            ///< and how long these ran in all.
  std::uint64_t made = 0;      ///< Number of the newest checkpoint that they left; 0: none.
  bool workers_given = false;  ///< By a flag or by the slots of hosts.
  std::uint32_t servers = 1;   ///< 0: workers exchange among themselves alone.
  std::uint32_t shards = 1;    ///< Shards of each server.
  std::uint32_t replicas = 1;  ///< Servers that have what each one has, with it.
  /// With those that stand by, which have the numbers that follow.
  std::uint32_t server_processes() const { return servers * replicas; }
  std::vector<std::string> command;  ///< What each worker runs: PROGRAM ARG...
  bool module = false;               ///< --module: PROGRAM is a module of Python.
  bool no_python = false;            ///< --no-python: PROGRAM runs as it is, also as a .py file.
  std::vector<std::pair<std::string, std::string>> added_environment;  ///< --env, in order.
  std::optional<Via> via;                                              ///< As given.
  std::vector<HostSlots> hosts;  ///< For workers, and servers unless these have their own.
  std::uint32_t nodes = 0;       ///< --nnodes, the MAX of it; 0: not given.
  std::uint32_t per_node = 0;    ///< Workers of each host by torchrun's flags; 0: slots decide.
  /// Of Via::kNodes: --node-rank of this launcher, and where the launcher of node 0 listens.
  std::optional<std::uint32_t> node_rank;
  HostPort meeting_point;
  std::vector<HostSlots> server_hosts;  ///< --server-hostfile.
  std::string scheduler_host;           ///< Empty: the launcher's own.
  std::uint32_t port = 0;               ///< Of the scheduler, the servers' follow; 0: free ones.
  std::string interface;                ///< Whose address others are to use; empty: found out.
  std::string starter;                  ///< Words instead of ssh, srun or mpirun.
  std::string directory;                ///< --chdir; empty: where the launcher was started.
  bool encrypt = false;                 ///< --encrypt: links between hosts are.
  bool oversubscribe = false;           ///< More workers than slots are meant.
  Manifest manifest;
  std::string log_directory;                 ///< Empty: no log files.
  std::string program_directory;             ///< --bin-dir; empty: beside the launcher.
  std::optional<std::string> start_timeout;  ///< --start-timeout as given, in seconds.
  Limits limits;
};

/// It names one checkpoint, or a folder of them.
bool resumes_from_path(const Plan& plan);

/// One process of the job.
struct JobMember {
  Role role = Role::kWorker;
  Rank rank = 0;

  friend bool operator==(const JobMember&, const JobMember&) = default;
};

/// In starting order: the scheduler, the servers, the workers.
std::vector<JobMember> members_of(const Plan& plan);

/// An elastic job's workers that may be started for others that are lost, in the order in which
/// they are: they have the ranks that follow. Where servers move those come first that may have the
/// place of each.
std::vector<JobMember> spares_of(const Plan& plan);

/// "local", "ssh", "mpi", "slurm", "nodes".
std::string_view name_of(Via via);

/// Servers hand their places over to others that are run for that.
bool servers_move(const Plan& plan);
/// A server that is lost is run again: in jobs of fixed size, whose servers have one shard each.
bool servers_return(const Plan& plan);
/// "worker 3", "server 0", "scheduler": how lines of output and messages name a process.
std::string label_of(const JobMember& member);

/// What is written down of the job for the user's other programs.
KnownJob known_job(const Plan& plan, const HostPort& scheduler, const std::string& token,
                   std::int64_t started_s);

}  // namespace stretto::launch
