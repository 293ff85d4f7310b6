// SPDX-License-Identifier: Apache-2.0
// Config: a process's settings for its job, from STRETTO_* variables, or DMLC_* if those are
// missing. Only this code reads the environment; docs/CONFIGURATION.md lists the names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/network/host_port.h"
#include "stretto/codec.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "stretto/types.h"

namespace stretto {

/// Wire numbers. An endpoint is an RPC peer outside of any job; an observer watches a job and is no
/// member.
enum class Role : std::uint8_t {
  kScheduler = 1,
  kServer = 2,
  kWorker = 3,
  kEndpoint = 4,
  kObserver = 5
};

/// Maximum of workers and shards in a job: their roster fits a control message.
inline constexpr std::uint32_t kMaxNodes = 4096;

/// "scheduler", "server", "worker", "endpoint", "observer".
std::string_view name_of(Role role);

/// Transport between servers and workers. kAuto selects shared memory within a host, and TCP or, in
/// an encrypted job, libzmq elsewhere; kShm and kFabric fail if unavailable.
enum class TransportChoice : std::uint8_t { kAuto, kTcp, kShm, kFabric, kZmq };
/// As in STRETTO_TRANSPORT: "auto", "tcp", "shm", "fabric", "zmq".
std::string_view name_of(TransportChoice choice);

/// How the processes of a host share its bandwidth to other hosts.
enum class HostPolicy : std::uint8_t {
  kNone,   ///< A send window per process.
  kFair,   ///< One window; equal parts for the jobs with data to send.
  kUrgent  ///< As kFair; within a job urgent data of any process goes first.
};

/// Which frames carry a checksum.
enum class Checksums : std::uint8_t {
  kNone,
  kBetweenHosts,
  kAll  ///< Within a host too, where bytes stay in memory: for tests and comparisons.
};
/// kBetweenHosts if they cost little in this build, else kNone.
Checksums automatic_checksums();

/// Looks a variable up; std::nullopt if unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// The process's own environment.
Environment process_environment();
/// `base` with the variables in `set` replaced: gives flags precedence.
Environment overlay(std::map<std::string, std::string> set, Environment base);

/// Settings of the whole job. The scheduler sends its own in the roster.
struct JobSettings {
  std::uint32_t part_bytes = 256 * 1024;  ///< Unit of pipelining and of preemption.
  /// Bytes in flight that one link, and one endpoint in total, may have submitted without the peer
  /// having taken them. The limit lets an urgent frame overtake.
  std::uint64_t link_window_bytes = 1024 * 1024;
  std::uint64_t total_window_bytes = 8 * 1024 * 1024;
  Duration heartbeat = 500ms;
  Duration dead_after = 5s;     ///< Silence after which a node is lost.
  Duration stall_error = 300s;  ///< Age of an unfinished round at which its waiters get an error.
  /// Elastic job: it continues after worker losses while at least this many workers are in or have
  /// finished. 0: fixed size, and a lost worker ends the job.
  std::uint32_t min_workers = 0;
  /// Connections between two workers on different machines; the parts of tensors share them.
  std::uint32_t worker_links = 1;
  static constexpr std::uint32_t kMostWorkerLinks = 16;
  /// The checkpoint that the job resumes from, and its step; 0: none. The scheduler's.
  std::uint64_t restored = 0;
  std::uint64_t restored_step = 0;
  /// Servers may migrate, and this many lost servers may be replaced. Replacement needs a job of
  /// fixed size, one shard per server, and servers that hold only sums of rounds.
  std::uint32_t server_restarts = 0;
  /// Servers per server rank: the primary and its standbys, which hold the same data.
  std::uint32_t replicas = 1;
  static constexpr std::uint32_t kMostReplicas = 2;
  /// How long members wait for a lost scheduler; zero: its loss ends the job. The scheduler's.
  Duration scheduler_absence{};
  bool elastic() const { return min_workers != 0; }
  bool replicated() const { return replicas > 1; }
  /// Servers can migrate to replacement processes.
  bool servers_move() const { return server_restarts != 0 && !replicated(); }
  /// Lost servers with one shard are restarted. Workers retain each part's last value.
  bool servers_return() const { return servers_move() && !elastic(); }
  /// Another server may replace a lost or draining server.
  bool servers_replaced() const { return servers_move() || replicated(); }
};

/// Tracing from the start of the process.
struct TraceSettings {
  std::string folder;               ///< For a file per process; empty: none.
  std::uint64_t records = 1 << 17;  ///< Capacity of a loop's ring.
  /// As in BytePS: a worker's rounds from `first_step` to `last_step`, in
  /// `byteps_folder`/`local_rank`/comm.json.
  bool byteps = false;
  std::string byteps_folder = ".";
  std::uint64_t first_step = 10;
  std::uint64_t last_step = 20;
  std::uint32_t local_rank = 0;
};

/// Failure history of a job that restarts from checkpoints.
struct FailureHistory {
  Duration prior = std::chrono::hours(4);  ///< Expected time between failures, before any was seen.
  std::uint32_t failures = 0;              ///< Of earlier attempts,
  Duration ran{};                          ///< and their total duration.
};

/// Restart of a lost scheduler; set by its launcher.
struct SchedulerReturnSettings {
  std::string journal;         ///< Path of its journal; empty: it is not restarted.
  std::uint32_t life = 1;      ///< Incarnation of this scheduler.
  std::uint32_t restarts = 0;  ///< Restarts left.
  Duration absence = std::chrono::seconds(120);  ///< For JobSettings::scheduler_absence.
};

/// Location and schedule of a job's checkpoints.
struct CheckpointSettings {
  std::string folder;   ///< The same on all hosts; empty: no checkpoints.
  bool resumes = true;  ///< The job resumes from a checkpoint, if any.
  /// Checkpoint or folder to resume from; empty: the newest complete one in `folder`.
  std::string source = {};
  Duration every = std::chrono::seconds(60);  ///< Checkpoint interval. The scheduler's.
  bool chooses_every = false;                 ///< By the last one's cost; `every` is the first.
  FailureHistory failures = {};
  /// Number of the newest checkpoint that earlier attempts of this job left in `folder`; 0: none.
  /// The scheduler's: it resumes from that one or a newer one.
  std::uint64_t made = 0;
};

struct Config {
  Role role = Role::kWorker;
  std::int64_t rank = -1;
  std::uint32_t workers = 1;
  /// `workers` counts hosts, whose worker counts are known later (DMLC_NUM_WORKER without
  /// BYTEPS_LOCAL_SIZE, for a scheduler or a server).
  bool workers_are_hosts = false;
  /// Maximum number of workers in the job.
  std::uint32_t most_workers() const;
  /// Including standbys: server `n` is the standby of server `n - servers`, if there is one.
  std::uint32_t server_processes() const { return servers * job.replicas; }
  /// Upper bound of server ids. If servers are replaceable, `n` and `n + servers` belong to server
  /// rank `n`, as do the next two ids, for external servers.
  std::uint32_t server_numbers() const {
    return servers * (job.servers_replaced() ? 2 * JobSettings::kMostReplicas : 1);
  }
  /// An external server has this id: the job's launcher has not started it.
  bool is_guest_server(Rank number) const { return number >= servers * JobSettings::kMostReplicas; }
  std::uint32_t restarts = 0;           ///< Replacement workers allowed: they get the next ranks.
  std::uint64_t machine = 0;            ///< Id of its machine; 0: see common/network/machine.h.
  NodeId former = 0;                    ///< Previous incarnation of a rejoining worker.
  std::uint32_t servers = 1;            ///< 0: workers exchange only with one another.
  std::uint32_t shards = 1;             ///< Shards of each server.
  std::string scheduler;                ///< host:port; empty at a scheduler with a free port.
  std::string bind_host = "127.0.0.1";  ///< Bind address of this node.
  std::string fabric_provider;          ///< Name of a libfabric provider; empty: automatic.
  std::string node_host;                ///< Address for other hosts; empty: detected.
  std::string token;
  std::string starter;    ///< ParentProcess name of the launcher; empty: unknown.
  bool encrypts = false;  ///< Connections to other hosts, with keys from the token.
  /// Connections between hosts use libzmq, not our own sockets.
  bool links_by_zmq() const { return encrypts || transport == TransportChoice::kZmq; }
  Duration rendezvous_timeout = 60s;
  Duration operation_timeout = 310s;     ///< Servers time out first, and name missing workers.
  Duration drain = 20s;                  ///< For a replacement of a draining server.
  std::uint64_t memory_limit_bytes = 0;  ///< Per server, for declared tensors; 0: no limit.
  std::string log_level = "info";
  std::string metrics_file;     ///< The scheduler's; empty: none.
  std::string metrics_address;  ///< host:port of this process's metrics; empty: none.
  std::string page_address;     ///< host:port of the scheduler's live page; empty: none.
  TraceSettings trace;
  CheckpointSettings checkpoint;
  SchedulerReturnSettings scheduler_return;  ///< Of the scheduler itself.
  TransportChoice transport = TransportChoice::kAuto;
  /// Links reconnect (van/session/reconnect_timeouts.h). No variable sets this: it is for
  /// comparisons.
  bool remakes_links = true;
  /// Frames are sent whole, with the configured windows, to other hosts too: for comparisons.
  bool whole_frames = false;
  /// From the environment, automatic_checksums() by default.
  Checksums checksums = Checksums::kNone;
  /// From the environment, kUrgent by default.
  HostPolicy host_policy = HostPolicy::kNone;
  /// Maximum time that a loop spins before it sleeps. From the environment, 50 us by default.
  Duration look_ahead{};
  /// The scheduler throttles workers that read more than their fair part of a storage's bandwidth.
  bool balance_input = true;
  NonFinite non_finite = NonFinite::kPass;  ///< For a worker's tensors that do not set it.
  CodecPolicy codecs;  ///< Codecs of a worker's tensors, unless the program sets them.
  JobSettings job;
};

/// Reads and checks everything for `role`. Errors name the variable, its value and valid values.
Result<Config> config_from(const Environment& environment, Role role);
/// The cross-field checks of config_from: addresses, a token for other hosts, ranks.
Status check(const Config& config);

}  // namespace stretto
