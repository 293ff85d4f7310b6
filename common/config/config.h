// SPDX-License-Identifier: Apache-2.0
// What a process is told about its job: from STRETTO_* variables, or DMLC_* where those are
// missing. The one place that reads the environment; docs/CONFIGURATION.md lists the names.
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

/// The wire's numbers. An endpoint is one of RPC, outside of any job; an observer looks at a job
/// and is no member.
enum class Role : std::uint8_t {
  kScheduler = 1,
  kServer = 2,
  kWorker = 3,
  kEndpoint = 4,
  kObserver = 5
};

/// Workers and shards of one job, at most: their roster fits a control message.
inline constexpr std::uint32_t kMaxNodes = 4096;

/// "scheduler", "server", "worker", "endpoint", "observer".
std::string_view name_of(Role role);

/// How servers and workers reach one another. kAuto takes shared memory within a host, and TCP or,
/// in an encrypted job, libzmq elsewhere; kShm and kFabric make it an error if that cannot be had.
enum class TransportChoice : std::uint8_t { kAuto, kTcp, kShm, kFabric, kZmq };
/// As STRETTO_TRANSPORT has it: "auto", "tcp", "shm", "fabric", "zmq".
std::string_view name_of(TransportChoice choice);

/// How the processes of a host divide its way out to other hosts.
enum class HostPolicy : std::uint8_t {
  kNone,   ///< Each has a window of its own.
  kFair,   ///< One window; equal parts over the jobs that have something to send.
  kUrgent  ///< The same, and within a job what is urgent in one process goes before all others'.
};

/// Which frames carry a checksum.
enum class Checksums : std::uint8_t {
  kNone,
  kBetweenHosts,
  kAll  ///< Within a host too, where bytes do not leave its memory: for tests and comparisons.
};
/// kBetweenHosts if they cost little in this build, else kNone.
Checksums automatic_checksums();

/// Looks a variable up; std::nullopt if unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// The process's own environment.
Environment process_environment();
/// `base`, with some variables set otherwise: how flags take precedence.
Environment overlay(std::map<std::string, std::string> set, Environment base);

/// Numbers that hold for the whole job. The scheduler's are told to everybody in the roster.
struct JobSettings {
  std::uint32_t part_bytes = 256 * 1024;  ///< Unit of pipelining and of preemption.
  /// Bytes that one link, and one endpoint in all, may have submitted and not yet taken by the
  /// far end. Bounded submission is what lets an urgent frame overtake.
  std::uint64_t link_window_bytes = 1024 * 1024;
  std::uint64_t total_window_bytes = 8 * 1024 * 1024;
  Duration heartbeat = 500ms;
  Duration dead_after = 5s;     ///< Silence after which a node is lost.
  Duration stall_error = 300s;  ///< Age of an unfinished round at which its waiters get an error.
  /// The job is elastic: it goes on without workers that are lost, as long as so many are in or
  /// have finished. 0: its size is fixed, and who is lost ends it.
  std::uint32_t min_workers = 0;
  /// Links between each two workers on different machines; the parts of tensors share them.
  std::uint32_t worker_links = 1;
  static constexpr std::uint32_t kMostWorkerLinks = 16;
  /// The checkpoint that the job goes on from, and its step; 0: it begins anew. The scheduler's.
  std::uint64_t restored = 0;
  std::uint64_t restored_step = 0;
  /// Places of servers may move, and so many servers that are lost in all may be replaced, in a job
  /// of fixed size, as long as all that they hold are sums of rounds, and each has one shard.
  std::uint32_t server_restarts = 0;
  /// Servers that have each slot: who serves it, and those that stand by with all that it has.
  std::uint32_t replicas = 1;
  static constexpr std::uint32_t kMostReplicas = 2;
  /// A scheduler that is lost is awaited so long; zero: its loss ends the job. The scheduler's.
  Duration scheduler_absence{};
  bool elastic() const { return min_workers != 0; }
  bool replicated() const { return replicas > 1; }
  /// Servers hand their places over to processes that are started for that.
  bool servers_move() const { return server_restarts != 0 && !replicated(); }
  /// Those that are lost come back, if each has one shard. Workers keep each part's last value.
  bool servers_return() const { return servers_move() && !elastic(); }
  /// Another may have a server's place: of one that is lost, or that goes.
  bool servers_replaced() const { return servers_move() || replicated(); }
};

/// What is traced from the start, without being asked for while the job runs.
struct TraceSettings {
  std::string folder;               ///< A file of each process goes there; empty: none.
  std::uint64_t records = 1 << 17;  ///< Room of a loop's ring.
  /// As BytePS does: a worker's rounds from `first_step` to `last_step`, in
  /// `byteps_folder`/`local_rank`/comm.json.
  bool byteps = false;
  std::string byteps_folder = ".";
  std::uint64_t first_step = 10;
  std::uint64_t last_step = 20;
  std::uint32_t local_rank = 0;
};

/// What is known of a job's failures: of which it begins again from a checkpoint.
struct FailureHistory {
  Duration prior = std::chrono::hours(4);  ///< Between them, before any was seen.
  std::uint32_t failures = 0;              ///< Of the attempts before this one,
  Duration ran{};                          ///< which ran so long in all.
};

/// How a scheduler that is lost comes back; its launcher's word.
struct SchedulerReturnSettings {
  std::string journal;         ///< Where it writes down what it decides; empty: it does not return.
  std::uint32_t life = 1;      ///< The how many-eth process of this scheduler it is.
  std::uint32_t restarts = 0;  ///< So often more it may be started again.
  Duration absence = std::chrono::seconds(120);  ///< JobSettings::scheduler_absence, where it may.
};

/// Where a job's checkpoints lie.
struct CheckpointSettings {
  std::string folder;   ///< The same on all hosts; empty: the job keeps none.
  bool resumes = true;  ///< The job goes on from one, if there is one.
  /// One, or a folder of them, that it goes on from; empty: the newest complete one in `folder`.
  std::string source = {};
  Duration every = std::chrono::seconds(60);  ///< When one is due again. The scheduler's.
  bool chooses_every = false;                 ///< By what the last one cost; `every` is the first.
  FailureHistory failures = {};
  /// Number of the newest one that attempts of this job before this one left in `folder`; 0: none.
  /// The scheduler's: it begins from that one or a newer one.
  std::uint64_t made = 0;
};

struct Config {
  Role role = Role::kWorker;
  std::int64_t rank = -1;
  std::uint32_t workers = 1;
  /// `workers` are hosts of as many workers each as these will say (DMLC_NUM_WORKER without
  /// BYTEPS_LOCAL_SIZE, for a scheduler or a server).
  bool workers_are_hosts = false;
  /// What to be prepared for.
  std::uint32_t most_workers() const;
  /// With those that stand by: server `n` stands by for server `n - servers`, if there is one.
  std::uint32_t server_processes() const { return servers * job.replicas; }
  /// Servers may be numbered so far: where a place may change hands, `n` and `n + servers` have it,
  /// and the next two numbers of it those that have been started elsewhere than the others.
  std::uint32_t server_numbers() const {
    return servers * (job.servers_replaced() ? 2 * JobSettings::kMostReplicas : 1);
  }
  /// The launcher of the job has not started the server of this number.
  bool is_guest_server(Rank number) const { return number >= servers * JobSettings::kMostReplicas; }
  std::uint32_t restarts = 0;  ///< Workers that may come for others: they have the next ranks.
  std::uint64_t machine = 0;   ///< Where it is said to run; 0: as common/network/machine.h has it.
  NodeId former = 0;           ///< Of a worker that comes again to the job that has lost it.
  std::uint32_t servers = 1;   ///< 0: workers exchange among themselves alone.
  std::uint32_t shards = 1;    ///< Shards of each server.
  std::string scheduler;       ///< host:port; empty at a scheduler that may choose its port.
  std::string bind_host = "127.0.0.1";  ///< Address that this node listens at.
  std::string fabric_provider;          ///< libfabric's name of one; empty: chosen.
  std::string node_host;                ///< Address that others are told; empty: found out.
  std::string token;
  std::string starter;    ///< Starter's name of who has started this process; empty: not known.
  bool encrypts = false;  ///< Links to other hosts, by keys made of the token.
  /// Links between hosts are libzmq's; else they are of our own sockets.
  bool links_by_zmq() const { return encrypts || transport == TransportChoice::kZmq; }
  Duration rendezvous_timeout = 60s;
  Duration operation_timeout = 310s;     ///< Servers give up first, and know who is missing.
  Duration drain = 20s;                  ///< A server that is to go: for another to have its place.
  std::uint64_t memory_limit_bytes = 0;  ///< Per server, for declared tensors; 0: no limit.
  std::string log_level = "info";
  std::string metrics_file;     ///< The scheduler's; empty: none.
  std::string metrics_address;  ///< host:port of this process's metrics; empty: none.
  std::string page_address;     ///< host:port of the scheduler's live page; empty: none.
  TraceSettings trace;
  CheckpointSettings checkpoint;
  SchedulerReturnSettings scheduler_return;  ///< Of the scheduler itself.
  TransportChoice transport = TransportChoice::kAuto;
  /// Links that end are made anew (van/session/reconnect_timeouts.h). No variable sets it: it is
  /// for comparisons.
  bool remakes_links = true;
  /// Frames leave whole and windows are the settings', towards other hosts too: for comparisons.
  bool whole_frames = false;
  /// The environment's are the automatic ones unless it says otherwise.
  Checksums checksums = Checksums::kNone;
  /// The environment's is kUrgent unless it says otherwise.
  HostPolicy host_policy = HostPolicy::kNone;
  /// For how long a loop looks again before it sleeps, at most. The environment's is 50 us unless
  /// it says otherwise.
  Duration look_ahead{};
  /// Whether the scheduler limits what workers read that take others' share of a storage.
  bool balance_input = true;
  NonFinite non_finite = NonFinite::kPass;  ///< Of a worker's tensors that do not say it.
  CodecPolicy codecs;  ///< Which of a worker's tensors get a codec, where the program says nothing.
  JobSettings job;
};

/// Reads and checks everything for `role`. Errors name the variable, its value and what is wanted.
Result<Config> config_from(const Environment& environment, Role role);
/// What config_from checks of the whole: addresses, that other hosts need a token, ranks.
Status check(const Config& config);

}  // namespace stretto
