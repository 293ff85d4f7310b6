// SPDX-License-Identifier: Apache-2.0
// Parses and checks variables into a Config. Pure: the environment is passed in as a function.
#include "common/config/config.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>

#include "common/config/job_secret.h"
#include "common/config/variables.h"
#include "common/log.h"
#include "common/memory/crc32c.h"
#include "common/network/machine.h"
#include "common/process/parent_process.h"

namespace stretto {
namespace {

Status wrong(const std::string& name, std::string_view found, std::string_view wanted) {
  return {Code::kInvalidArgument, fmt::format("{} is '{}', wanted {}", name, found, wanted)};
}

// Reads variables and remembers the first error, so that callers need no error checks.
class ConfigReader {
 public:
  explicit ConfigReader(const Environment& environment) : environment_(environment) {}

  const Status& status() const { return status_; }

  std::optional<std::string> text(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (auto value = environment_(name)) {
        found_ = name;
        return value;
      }
    }
    return std::nullopt;
  }

  template <typename T>
  void number(std::initializer_list<const char*> names, T& value, std::int64_t least,
              std::int64_t most, std::string_view or_word = {}) {
    const auto found = text(names);
    if (!found || (!or_word.empty() && *found == or_word)) return;
    std::int64_t parsed = 0;
    const char* end = found->data() + found->size();
    const auto [stop, error] = std::from_chars(found->data(), end, parsed);
    if (error != std::errc() || stop != end || parsed < least || parsed > most) {
      fail(wrong(found_, *found,
                 fmt::format("{}{}a whole number from {} to {}", or_word,
                             or_word.empty() ? "" : " or ", least, most)));
      return;
    }
    value = static_cast<T>(parsed);
  }

  void seconds(std::initializer_list<const char*> names, Duration& value) {
    const auto found = text(names);
    if (!found) return;
    double parsed = 0;
    const char* end = found->data() + found->size();
    const auto [stop, error] = std::from_chars(found->data(), end, parsed);
    if (error != std::errc() || stop != end || !(parsed >= 0.001) || !(parsed <= 86400)) {
      fail(wrong(found_, *found, "seconds from 0.001 to 86400"));
      return;
    }
    value = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(parsed));
  }

  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  const Environment& environment_;
  std::string found_;
  Status status_;
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kMostWorkers = kMaxNodes;

// World size: STRETTO_WORLD_SIZE, or DMLC_NUM_WORKER x BYTEPS_LOCAL_SIZE.
void read_world(ConfigReader& reader, Config& config) {
  if (reader.text({"STRETTO_WORLD_SIZE"})) {
    reader.number({"STRETTO_WORLD_SIZE"}, config.workers, 1, kMostWorkers);
  } else {
    std::uint32_t local = 1;
    reader.number({"DMLC_NUM_WORKER"}, config.workers, 1, kMostWorkers);
    reader.number({"BYTEPS_LOCAL_SIZE"}, local, 1, 1024);
    config.workers *= local;
    config.workers_are_hosts = config.role != Role::kWorker && reader.text({"DMLC_NUM_WORKER"}) &&
                               !reader.text({"BYTEPS_LOCAL_SIZE"});
    if (config.workers > kMostWorkers) {
      reader.fail(wrong("DMLC_NUM_WORKER x BYTEPS_LOCAL_SIZE", std::to_string(config.workers),
                        fmt::format("at most {}", kMostWorkers)));
    }
  }
  reader.number({"STRETTO_SERVERS", "DMLC_NUM_SERVER"}, config.servers, 0, kMaxNodes);
  reader.number({"STRETTO_SHARDS"}, config.shards, 1, 1024);
  reader.number({"STRETTO_RESTARTS"}, config.restarts, 0, kMostWorkers);
}

void read_rank(ConfigReader& reader, Config& config) {
  if (reader.text({"STRETTO_RANK", "BYTEPS_GLOBAL_RANK"})) {
    reader.number({"STRETTO_RANK", "BYTEPS_GLOBAL_RANK"}, config.rank, -1, 32767);
    return;
  }
  if (config.role != Role::kWorker || !reader.text({"DMLC_WORKER_ID"})) return;
  std::int64_t host = 0;
  std::int64_t local_size = 1;
  std::int64_t local_rank = 0;
  reader.number({"DMLC_WORKER_ID"}, host, 0, 32767);
  reader.number({"BYTEPS_LOCAL_SIZE"}, local_size, 1, 1024);
  reader.number({"BYTEPS_LOCAL_RANK"}, local_rank, 0, 1023);
  config.rank = host * local_size + local_rank;
}

void read_scheduler(ConfigReader& reader, Config& config) {
  const auto address = reader.text({"STRETTO_SCHEDULER"});
  const auto host = reader.text({"DMLC_PS_ROOT_URI"});
  const auto port = reader.text({"DMLC_PS_ROOT_PORT"});
  if (!address && (!host || !port)) return;
  // There IPv6 addresses have no brackets.
  const bool bare_ipv6 = host && host->find(':') != std::string::npos && host->front() != '[';
  config.scheduler = address     ? *address
                     : bare_ipv6 ? fmt::format("[{}]:{}", *host, *port)
                                 : *host + ":" + *port;
  const Result<HostPort> named = parse_host_port(config.scheduler);
  if (named.ok() && named->host == "::1") config.bind_host = named->host;
  if (!named.ok() || is_loopback(named->host)) return;
  // Under DMLC names a root outside loopback means that the job spans hosts.
  if (config.role == Role::kScheduler) config.bind_host = named->host;
  const bool over_ipv6 = named->host.find(':') != std::string::npos;
  if (config.role != Role::kScheduler && !address) config.bind_host = over_ipv6 ? "::" : "0.0.0.0";
}

void refuse_retired(ConfigReader& reader) {
  for (const RetiredVariable& retired : retired_variables()) {
    const auto found = reader.text({retired.name});
    if (!found) continue;
    reader.fail({Code::kInvalidArgument,
                 fmt::format("{} is '{}', and there is no such setting any more: {}", retired.name,
                             *found, retired.instead)});
  }
}

void read_job(ConfigReader& reader, JobSettings& job) {
  constexpr std::int64_t kMostPart = 16 << 20;
  reader.number({"STRETTO_PART_BYTES"}, job.part_bytes, 64, kMostPart);
  if (job.part_bytes % 64 != 0) {
    reader.fail(wrong("STRETTO_PART_BYTES", std::to_string(job.part_bytes), "a multiple of 64"));
  }
  reader.number({"STRETTO_MIN_WORKERS"}, job.min_workers, 0, kMostWorkers);
  reader.number({"STRETTO_SERVER_RESTARTS"}, job.server_restarts, 0, kMostWorkers);
  reader.number({"STRETTO_REPLICAS"}, job.replicas, 1, JobSettings::kMostReplicas);
  reader.number({"STRETTO_WORKER_LINKS"}, job.worker_links, 1, JobSettings::kMostWorkerLinks);
  reader.number({"STRETTO_LINK_WINDOW_BYTES"}, job.link_window_bytes, 1, kMost);
  reader.number({"STRETTO_TOTAL_WINDOW_BYTES"}, job.total_window_bytes, 1, kMost);
  reader.seconds({"STRETTO_HEARTBEAT_S"}, job.heartbeat);
  reader.seconds({"STRETTO_DEAD_AFTER_S"}, job.dead_after);
  reader.seconds({"STRETTO_STALL_ERROR_S"}, job.stall_error);
  if (job.dead_after < 2 * job.heartbeat) {
    reader.fail({Code::kInvalidArgument,
                 "STRETTO_DEAD_AFTER_S is less than two heartbeats: every node would be lost"});
  }
}

void read_transport(ConfigReader& reader, TransportChoice& choice, std::string& provider) {
  provider = reader.text({"STRETTO_FABRIC_PROVIDER"}).value_or("");
  const auto name = reader.text({"STRETTO_TRANSPORT"});
  if (!name || *name == "auto") return;
  if (*name == "tcp") {
    choice = TransportChoice::kTcp;
  } else if (*name == "zmq") {
    choice = TransportChoice::kZmq;
  } else if (*name == "shm") {
    choice = TransportChoice::kShm;
  } else if (*name == "fabric") {
    choice = TransportChoice::kFabric;
  } else {
    reader.fail(wrong("STRETTO_TRANSPORT", *name, "auto, tcp, zmq, shm or fabric"));
  }
}

void read_submission(ConfigReader& reader, bool& whole_frames) {
  const auto unit = reader.text({"STRETTO_HAND_OVER"});
  if (!unit) return;
  whole_frames = *unit == "frames";
  if (*unit != "frames" && *unit != "slices") {
    reader.fail(wrong("STRETTO_HAND_OVER", *unit, "slices or frames"));
  }
}

void read_host_policy(ConfigReader& reader, HostPolicy& policy) {
  const auto word = reader.text({"STRETTO_HOST_WINDOW"});
  policy = HostPolicy::kUrgent;
  if (!word || *word == "urgent") return;
  if (*word == "none") {
    policy = HostPolicy::kNone;
  } else if (*word == "fair") {
    policy = HostPolicy::kFair;
  } else {
    reader.fail(wrong("STRETTO_HOST_WINDOW", *word, "none, fair or urgent"));
  }
}

void read_look_ahead(ConfigReader& reader, Duration& look_ahead) {
  std::int64_t microseconds = 50;
  reader.number({"STRETTO_SPIN_US"}, microseconds, 0, 1000, "auto");
  look_ahead = std::chrono::microseconds(microseconds);
}

void read_failures(ConfigReader& reader, FailureHistory& history) {
  constexpr std::int64_t kMostSeconds = std::int64_t{1} << 30;  // 34 years.
  std::int64_t prior = std::chrono::duration_cast<std::chrono::seconds>(history.prior).count();
  std::int64_t ran = 0;
  reader.number({"STRETTO_MTBF_S"}, prior, 1, kMostSeconds);
  reader.number({"STRETTO_FAILURES"}, history.failures, 0, kMaxNodes);
  reader.number({"STRETTO_RAN_S"}, ran, 0, kMostSeconds);
  history.prior = std::chrono::seconds(prior);
  history.ran = std::chrono::seconds(ran);
}

void read_checkpoint(ConfigReader& reader, CheckpointSettings& checkpoint) {
  checkpoint.folder = reader.text({"STRETTO_CHECKPOINT"}).value_or("");
  const std::string resume = reader.text({"STRETTO_RESUME"}).value_or("auto");
  checkpoint.resumes = resume != "no";
  if (resume != "auto" && resume != "no") checkpoint.source = resume;
  checkpoint.chooses_every = reader.text({"STRETTO_CHECKPOINT_EVERY_S"}) == "auto";
  if (!checkpoint.chooses_every) reader.seconds({"STRETTO_CHECKPOINT_EVERY_S"}, checkpoint.every);
  read_failures(reader, checkpoint.failures);
  reader.number({"STRETTO_CHECKPOINT_MADE"}, checkpoint.made, 0, kMost);
}

void read_checksums(ConfigReader& reader, bool encrypts, Checksums& checksums) {
  const std::string word = reader.text({"STRETTO_CHECKSUMS"}).value_or("auto");
  checksums = automatic_checksums();
  if (word == "all") {
    checksums = Checksums::kAll;
  } else if (word == "hosts") {
    checksums = Checksums::kBetweenHosts;
  } else if (word == "off") {
    checksums = Checksums::kNone;
  } else if (word != "auto") {
    reader.fail(wrong("STRETTO_CHECKSUMS", word, "auto, off, hosts or all"));
  }
  // CURVE does not detect dropped messages: a payload could follow another's header.
  if (encrypts && checksums == Checksums::kNone) checksums = Checksums::kBetweenHosts;
}

void read_encrypt(ConfigReader& reader, bool& encrypts) {
  const auto word = reader.text({"STRETTO_ENCRYPT"});
  if (word) encrypts = *word == "1";
  if (word && *word != "0" && *word != "1") reader.fail(wrong("STRETTO_ENCRYPT", *word, "0 or 1"));
}

void read_balance(ConfigReader& reader, bool& balance_input) {
  const auto word = reader.text({"STRETTO_INPUT_BALANCE"});
  if (!word) return;
  balance_input = *word == "on";
  if (*word != "on" && *word != "off") {
    reader.fail(wrong("STRETTO_INPUT_BALANCE", *word, "on or off"));
  }
}

// Below 64 KiB a codec saves less than its frame costs; BytePS has the same limit.
void read_codecs(ConfigReader& reader, CodecPolicy& codecs) {
  std::uint64_t min_bytes = 65536;
  reader.number({"STRETTO_CODEC_MIN_BYTES", "BYTEPS_MIN_COMPRESS_BYTES"}, min_bytes, 0, kMost);
  const auto rules = reader.text({"STRETTO_CODEC"});
  if (!rules) return;
  Result<CodecPolicy> policy = CodecPolicy::parse(*rules, min_bytes);
  if (policy.ok()) {
    codecs = *std::move(policy);
  } else {
    reader.fail(
        wrong("STRETTO_CODEC", *rules,
              "rules such as onebit,ef=vanilla or *.bias=none;*=fp16: " + policy.status().cause()));
  }
}

void read_non_finite(ConfigReader& reader, NonFinite& policy) {
  const auto name = reader.text({"STRETTO_NONFINITE"});
  if (!name) return;
  const Result<NonFinite> named = non_finite_named(*name);
  if (named.ok()) {
    policy = *named;
  } else {
    reader.fail(wrong("STRETTO_NONFINITE", *name, "pass, count, reject or raise"));
  }
}

void read_trace(ConfigReader& reader, TraceSettings& trace) {
  trace.folder = reader.text({"STRETTO_TRACE"}).value_or("");
  reader.number({"STRETTO_TRACE_RECORDS"}, trace.records, 1024, 1 << 22);
  std::int64_t byteps = 0;
  reader.number({"BYTEPS_TRACE_ON"}, byteps, 0, 1);
  trace.byteps = byteps == 1;
  trace.byteps_folder = reader.text({"BYTEPS_TRACE_DIR"}).value_or(".");
  reader.number({"BYTEPS_TRACE_START_STEP"}, trace.first_step, 0, kMost);
  reader.number({"BYTEPS_TRACE_END_STEP"}, trace.last_step, 0, kMost);
  reader.number({"LOCAL_RANK", "BYTEPS_LOCAL_RANK"}, trace.local_rank, 0, 32767);
  if (trace.byteps && trace.last_step < trace.first_step) {
    reader.fail(wrong("BYTEPS_TRACE_END_STEP", std::to_string(trace.last_step),
                      fmt::format("at least BYTEPS_TRACE_START_STEP, {}", trace.first_step)));
  }
}

// Ports on one host count up from the scheduler's: scheduler, servers, workers.
void read_addresses(ConfigReader& reader, Config& config) {
  for (auto [name, into] : {std::pair{"STRETTO_METRICS_ADDRESS", &config.metrics_address},
                            std::pair{"STRETTO_PAGE_ADDRESS", &config.page_address}}) {
    const auto found = reader.text({name});
    if (!found) continue;
    // A port without a host belongs to loopback.
    *into = found->find(':') == std::string::npos ? "127.0.0.1:" + *found : *found;
    Result<HostPort> address = parse_host_port(*into);
    if (!address.ok()) {
      reader.fail(wrong(name, *found, "host:port, or a port, which is 127.0.0.1's"));
    } else if (Status status = check_secret(config.token);
               !is_loopback(address->host) && !status.ok()) {
      reader.fail({status.code(), fmt::format("{} is {}: other hosts may look in, and {}", name,
                                              *found, status.cause())});
    }
  }
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kScheduler:
      return "scheduler";
    case Role::kServer:
      return "server";
    case Role::kWorker:
      return "worker";
    case Role::kEndpoint:
      return "endpoint";
    case Role::kObserver:
      return "observer";
  }
  return "unknown";
}

std::string_view name_of(TransportChoice choice) {
  constexpr std::string_view kNames[] = {"auto", "tcp", "shm", "fabric", "zmq"};
  return kNames[static_cast<std::size_t>(choice)];
}

Environment overlay(std::map<std::string, std::string> set, Environment base) {
  return [set = std::move(set),
          base = std::move(base)](const std::string& name) -> std::optional<std::string> {
    auto found = set.find(name);
    return found == set.end() ? base(name) : found->second;
  };
}

// Without libisal the table would take longer than the network.
Checksums automatic_checksums() {
  return crc32c_is_fast() ? Checksums::kBetweenHosts : Checksums::kNone;
}

Result<Config> config_from(const Environment& environment, Role role) {
  Config config;
  config.role = role;
  ConfigReader reader(environment);
  read_world(reader, config);
  read_rank(reader, config);
  read_scheduler(reader, config);
  if (auto host = reader.text({"STRETTO_BIND_HOST"})) config.bind_host = without_brackets(*host);
  if (auto host = reader.text({"STRETTO_NODE_HOST", "DMLC_NODE_HOST"})) {
    config.node_host = without_brackets(*host);
  }
  if (auto token = reader.text({"STRETTO_JOB_TOKEN"})) config.token = *token;
  if (auto name = reader.text({"STRETTO_MACHINE"})) config.machine = machine_named(*name);
  const auto level = reader.text({"STRETTO_LOG_LEVEL"}).value_or("info");
  config.log_level = level;
  if (!level_named(level)) reader.fail(wrong("STRETTO_LOG_LEVEL", level, kLevelWords));
  if (auto path = reader.text({"STRETTO_METRICS_FILE"})) config.metrics_file = *path;
  read_trace(reader, config.trace);
  read_checkpoint(reader, config.checkpoint);
  read_addresses(reader, config);
  read_transport(reader, config.transport, config.fabric_provider);
  read_submission(reader, config.whole_frames);
  read_host_policy(reader, config.host_policy);
  read_look_ahead(reader, config.look_ahead);
  read_encrypt(reader, config.encrypts);
  read_checksums(reader, config.encrypts, config.checksums);
  read_balance(reader, config.balance_input);
  reader.seconds({"STRETTO_RENDEZVOUS_TIMEOUT_S"}, config.rendezvous_timeout);
  reader.seconds({"STRETTO_OPERATION_TIMEOUT_S"}, config.operation_timeout);
  reader.seconds({"STRETTO_DRAIN_S"}, config.drain);
  std::uint64_t limit_mib = 0;
  reader.number({"STRETTO_MEMORY_LIMIT_MIB"}, limit_mib, 0, std::int64_t{1} << 40);
  config.memory_limit_bytes = limit_mib << 20;
  read_codecs(reader, config.codecs);
  read_non_finite(reader, config.non_finite);
  refuse_retired(reader);
  read_job(reader, config.job);
  config.scheduler_return.journal = reader.text({"STRETTO_SCHEDULER_JOURNAL"}).value_or("");
  reader.number({"STRETTO_SCHEDULER_LIFE"}, config.scheduler_return.life, 1, kMostWorkers + 1);
  reader.number({"STRETTO_SCHEDULER_RESTARTS"}, config.scheduler_return.restarts, 0, kMostWorkers);
  reader.seconds({"STRETTO_SCHEDULER_ABSENCE_S"}, config.scheduler_return.absence);
  config.starter = reader.text({"STRETTO_STARTED_BY"}).value_or("");
  if (!reader.status().ok()) return reader.status();
  if (Status status = check(config); !status.ok()) return status;
  return config;
}

std::uint32_t Config::most_workers() const {
  constexpr std::uint32_t kMostOfAHost = 64;
  return workers_are_hosts ? std::min(workers * kMostOfAHost, kMaxNodes) : workers;
}

// A worker that all others connect to at once must have room for all of their links.
Status check_worker_links(const Config& config) {
  constexpr std::uint64_t kMostLinks = 1024;
  const std::uint64_t links = std::uint64_t{config.most_workers()} * config.job.worker_links;
  if (config.job.worker_links == 1 || links <= kMostLinks) return {};
  return {Code::kInvalidArgument,
          fmt::format("STRETTO_WORKER_LINKS is {} in a job of {} workers, which makes {} links at "
                      "each; at most {} are taken",
                      config.job.worker_links, config.most_workers(), links, kMostLinks)};
}

Status check_replicas(const Config& config) {
  const JobSettings& job = config.job;
  if (!job.replicated()) return {};
  if (config.servers != 0) return {};
  return {Code::kInvalidArgument,
          fmt::format("STRETTO_REPLICAS is {}, and STRETTO_SERVERS is 0: no server keeps anything",
                      job.replicas)};
}

// Rejects settings that need servers in a job without servers.
Status check_without_servers(const Config& config) {
  if (config.servers != 0) return {};
  if (config.role == Role::kServer) {
    return {Code::kInvalidArgument,
            "this is a server, and the job is to have none (STRETTO_SERVERS is 0): start none, or "
            "tell every process how many there are"};
  }
  if (config.job.min_workers == 0) return {};
  return {Code::kInvalidArgument,
          fmt::format("STRETTO_MIN_WORKERS is {}, and STRETTO_SERVERS is 0: a job goes on without "
                      "workers that are lost by what its servers keep; start a server, or let the "
                      "job have a fixed size",
                      config.job.min_workers)};
}

Status check(const Config& config) {
  if (!config.scheduler.empty()) {
    if (Result<HostPort> address = parse_host_port(config.scheduler); !address.ok()) {
      return address.status();
    }
  }
  if (Status status = check_secret(config.token); !is_loopback(config.bind_host) && !status.ok()) {
    return {status.code(), fmt::format("binding to {} lets other hosts in, and {}",
                                       config.bind_host, status.cause())};
  }
  if (Status status = check_token_length(config.token); !status.ok()) return status;
  if (Status status = check_encryption(config); !status.ok()) return status;
  if (const auto starter = ParentProcess::named(config.starter); !starter.ok()) {
    return {starter.status().code(), "STRETTO_STARTED_BY is " + starter.status().cause()};
  }
  const auto nodes = config.workers + std::uint64_t{config.server_processes()} * config.shards;
  if (nodes > kMaxNodes) {
    return {
        Code::kInvalidArgument,
        fmt::format("{} workers and {} servers of {} shards make {} nodes, at most {} are taken",
                    config.workers, config.servers, config.shards, nodes, kMaxNodes)};
  }
  if (config.job.min_workers > config.most_workers()) {
    return {Code::kInvalidArgument,
            fmt::format("STRETTO_MIN_WORKERS is {} in a job of {} workers; it goes on with at most "
                        "as many as it begins with",
                        config.job.min_workers, config.workers)};
  }
  if (Status status = check_worker_links(config); !status.ok()) return status;
  if (Status status = check_without_servers(config); !status.ok()) return status;
  if (Status status = check_replicas(config); !status.ok()) return status;
  const std::uint32_t world =
      config.role == Role::kServer ? config.server_numbers() : config.workers;
  if (config.rank >= std::int64_t{world} + (config.role == Role::kWorker ? config.restarts : 0)) {
    return {Code::kInvalidArgument, fmt::format("rank {} in a job of {} {}s; ranks start at 0",
                                                config.rank, world, name_of(config.role))};
  }
  return {};
}

}  // namespace stretto
