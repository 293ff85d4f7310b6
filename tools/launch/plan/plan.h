// SPDX-License-Identifier: Apache-2.0
// Plan: a parsed and checked command line. Environments, processes and supervision are derived from
// it.
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

/// Start method on other hosts; kNodes: the user starts this launcher on each of them.
enum class Via : std::uint8_t { kLocal, kSsh, kMpi, kSlurm, kNodes };

/// Timeouts of the launcher, each before its next, harder step.
struct Limits {
  Duration start = 60s;       ///< For the scheduler to report its address.
  Duration settle = 3s;       ///< After the first failure, for the others to end.
  Duration word = 6s;         ///< For a running scheduler to report that the job continues.
  Duration again = 66s;       ///< For an expelled worker that runs to rejoin.
  Duration drain = 10s;       ///< After the last worker, for servers and scheduler to end.
  Duration apart = 1s;        ///< Instead of both, while the job is forming.
  Duration absence = 5s;      ///< While others wait for a worker that exited before it joined.
  Duration grace = 20s;       ///< Between the request to end and SIGKILL.
  Duration reap = 5s;         ///< After SIGKILL, for the kernel to end processes.
  std::uint32_t returns = 0;  ///< Member restarts allowed; 0: the scheduler is not restarted.
  std::uint32_t places = 0;   ///< Server ranks open to external servers; else 0.
  std::uint32_t least_workers = 0;  ///< Workers of an elastic job that must succeed; else 0.
  Duration silence = 20s;           ///< Silence limit of a host's agent, while the whole job runs,
  Duration late_silence = 5s;       ///< and after the first exit.
};

/// Settings of the Kubernetes manifests.
struct Manifest {
  std::string name = "stretto";  ///< Job name; prefix of every object's name.
  std::string space;             ///< Namespace; empty: that of the user applying them.
  std::string image;             ///< Empty: a placeholder, and a note about it.
  std::string processors = "1";  ///< Requested by each server and worker, in Kubernetes syntax.
  std::string memory = "1Gi";
};

/// A flag of the command line.
struct GivenFlag {
  Flag flag{};
  std::string spelling;  ///< The preferred spelling, such as "--workers".
  std::string value;     ///< Empty for a switch.
};

struct Plan {
  Action action = Action::kRun;
  std::vector<GivenFlag> given;  ///< In the order of the command line.
  std::string name;              ///< --name: the job's name; empty: the program's name.
  std::uint32_t workers = 1;
  std::uint32_t least_workers = 0;  ///< Minimum to continue; 0: a lost worker ends the job.
  std::uint32_t restarts = 0;       ///< --restarts: of lost workers, and of the whole job.
  std::string checkpoint;           ///< --checkpoint: a folder; empty: no checkpoints.
  std::string resume;               ///< --resume: "auto", "no" or a path; empty: see the variable.
  std::optional<Duration> checkpoint_every;  ///< --checkpoint-every; zero: "auto".
  std::uint32_t failures = 0;                ///< Failed attempts before this one,
  Duration ran{};                            ///< and their total duration.
  std::uint64_t made = 0;                    ///< Number of their newest checkpoint; 0: none.
  bool workers_given = false;                ///< By a flag or by the slots of hosts.
  std::uint32_t servers = 1;                 ///< 0: workers exchange only with one another.
  std::uint32_t shards = 1;                  ///< Shards of each server.
  std::uint32_t replicas = 1;                ///< Copies of each server: its primary and standbys.
  /// Including standbys, whose ranks follow those of the primaries.
  std::uint32_t server_processes() const { return servers * replicas; }
  std::vector<std::string> command;  ///< What each worker runs: PROGRAM ARG...
  bool module = false;               ///< --module: PROGRAM is a module of Python.
  bool no_python = false;            ///< --no-python: PROGRAM runs as it is, also as a .py file.
  std::vector<std::pair<std::string, std::string>> added_environment;  ///< --env, in order.
  std::optional<Via> via;                                              ///< As given.
  std::vector<HostSlots> hosts;  ///< For workers, and servers unless these have their own.
  std::uint32_t nodes = 0;       ///< --nnodes, its MAX; 0: not given.
  std::uint32_t per_node = 0;    ///< Workers per host by torchrun's flags; 0: slots decide.
  /// Of Via::kNodes: --node-rank of this launcher, and the address of node 0's launcher.
  std::optional<std::uint32_t> node_rank;
  HostPort meeting_point;
  std::vector<HostSlots> server_hosts;  ///< --server-hostfile.
  std::string scheduler_host;           ///< Empty: the launcher's own.
  std::uint32_t port = 0;               ///< Of the scheduler, the servers' follow; 0: free ones.
  std::string interface;                ///< For connections from other hosts; empty: detected.
  std::string starter;                  ///< Replaces ssh, srun or mpirun.
  std::string directory;                ///< --chdir; empty: where the launcher was started.
  bool encrypt = false;                 ///< --encrypt: connections between hosts are encrypted.
  bool oversubscribe = false;           ///< More workers than slots are allowed.
  Manifest manifest;
  std::string log_directory;                 ///< Empty: no log files.
  std::string program_directory;             ///< --bin-dir; empty: beside the launcher.
  std::optional<std::string> start_timeout;  ///< --start-timeout as given, in seconds.
  Limits limits;
};

/// --resume is the path of a checkpoint, or of a folder of checkpoints.
bool resumes_from_path(const Plan& plan);

/// One process of the job.
struct JobMember {
  Role role = Role::kWorker;
  Rank rank = 0;

  friend bool operator==(const JobMember&, const JobMember&) = default;
};

/// In starting order: the scheduler, the servers, the workers.
std::vector<JobMember> members_of(const Plan& plan);

/// Members that may replace lost ones, with the ranks that follow. Replacements of migrating
/// servers come first, then those of an elastic job's workers.
std::vector<JobMember> spares_of(const Plan& plan);

/// "local", "ssh", "mpi", "slurm", "nodes".
std::string_view name_of(Via via);

/// Servers can migrate to replacements.
bool servers_move(const Plan& plan);
/// Lost servers are restarted: in jobs of fixed size with one shard per server.
bool servers_return(const Plan& plan);
/// "worker 3", "server 0", "scheduler": how lines of output and messages name a process.
std::string label_of(const JobMember& member);

/// The job's entry in the job file, for the user's other programs.
KnownJob known_job(const Plan& plan, const HostPort& scheduler, const std::string& token,
                   std::int64_t started_s);

}  // namespace stretto::launch
