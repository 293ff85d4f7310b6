// SPDX-License-Identifier: Apache-2.0
// The flags of each benchmark, and their limits.
#include "tools/bench/settings/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "common/config/config.h"
#include "tools/bench/support/flags.h"

namespace stretto::bench {
namespace {

struct Name {
  std::string_view name;
  Benchmark benchmark;
};

constexpr std::array<Name, 10> kNames = {{{"limits", Benchmark::kLimits},
                                          {"push_pull", Benchmark::kPushPull},
                                          {"push", Benchmark::kPush},
                                          {"pull", Benchmark::kPull},
                                          {"idle", Benchmark::kIdle},
                                          {"preempt", Benchmark::kPreempt},
                                          {"codec", Benchmark::kCodec},
                                          {"queue", Benchmark::kQueue},
                                          {"rpc", Benchmark::kRpc},
                                          {"recover", Benchmark::kRecover}}};

constexpr std::uint64_t kMaxProcesses = 256;
constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxWorkerBytes = std::uint64_t{16} << 30;
constexpr std::uint64_t kElementBytes = 4;  // Tensors are of f32.

constexpr std::pair<std::string_view, std::string_view> kTransports[] = {
    {"auto", "auto"}, {"tcp", "tcp"}, {"zmq", "zmq"}, {"shm", "shm"}, {"fabric", "fabric"}};

Status check_memory(const Settings& settings) {
  for (const std::uint64_t bytes : settings.bytes) {
    if (bytes % kElementBytes != 0) {
      return invalid(fmt::format("--bytes {}: wanted a multiple of {}, the tensors are of f32",
                                 bytes, kElementBytes));
    }
    const std::uint64_t needed = 2 * bytes * inflight_for(settings, bytes);
    if (needed > kMaxWorkerBytes) {
      return invalid(
          fmt::format("--bytes {} with {} tensors in flight needs {} bytes in each "
                      "worker, at most {} are taken",
                      bytes, inflight_for(settings, bytes), needed, kMaxWorkerBytes));
    }
  }
  return {};
}

void add(std::vector<Flag>& flags, std::vector<Flag> more) {
  for (Flag& flag : more) flags.push_back(std::move(flag));
}

std::vector<Flag> cluster_flags(Settings& settings) {
  return {whole_flag("workers", 1, kMaxProcesses, settings.workers),
          whole_flag("servers", 1, kMaxProcesses, settings.servers),
          whole_flag("shards", 1, kMaxProcesses, settings.shards)};
}

Flag bytes_flag(Settings& settings) {
  return {"bytes", false, [&settings](const std::string& value) {
            return read_list(value, kElementBytes, kMaxTensorBytes, settings.bytes);
          }};
}

std::vector<Flag> exchange_flags(Settings& settings) {
  return {bytes_flag(settings),
          whole_flag("inflight", 1, 4096, settings.inflight),
          {"part_bytes", false,
           [&settings](const std::string& value) {
             Status status = read_whole(value, 64, 16 << 20, settings.part_bytes);
             if (!status.ok() || settings.part_bytes % 64 == 0) return status;
             return invalid("wanted a multiple of 64");
           }},
          choice_flag<std::string_view>("transport", kTransports, settings.transport),
          exchange_flag(settings.exchange),
          {"lab_mbit", false,
           [&settings](const std::string& value) {
             return read_list(value, 1, 100'000, settings.lab_mbit);
           }},
          whole_flag("lab_hosts", 1, kMaxLabPeers, settings.lab_hosts)};
}

Status check_lab(const Settings& settings) {
  if (settings.lab_mbit.empty()) {
    if (settings.lab_hosts == 0) return {};
    return invalid("--lab_hosts: wanted --lab_mbit too, which makes the hosts");
  }
  const std::uint32_t members = settings.workers + settings.servers;
  const std::uint32_t hosts = settings.lab_hosts == 0 ? members : settings.lab_hosts;
  if (hosts > kMaxLabPeers || settings.shards != 1) {
    return invalid(
        fmt::format("--lab_mbit gives each worker and server a host, or --lab_hosts: wanted at "
                    "most {} of them, with one shard for each server, found {} with {}",
                    kMaxLabPeers, hosts, settings.shards));
  }
  if (hosts > members) {
    return invalid(
        fmt::format("--lab_hosts: wanted at most as many as workers and servers, {} in "
                    "all, found {}",
                    members, hosts));
  }
  if (settings.lab_mbit.size() > hosts) {
    return invalid(
        fmt::format("--lab_mbit: wanted at most a rate for each host, {} in all, found {}", hosts,
                    settings.lab_mbit.size()));
  }
  // Processes of one host may communicate without its link.
  const bool may_be_auto = settings.lab_hosts != 0 && settings.transport == "auto";
  const bool goes_over_links = settings.transport == "tcp" || settings.transport == "zmq";
  if (!settings.transport.empty() && !goes_over_links && !may_be_auto) {
    return invalid(fmt::format(
        "--lab_mbit: wanted --transport tcp, zmq, or auto with --lab_hosts, since nothing "
        "else goes over its links, found {}",
        settings.transport));
  }
  return {};
}

Status check_exchange(const Settings& settings) {
  if (settings.exchange != Exchange::kServers && settings.benchmark != Benchmark::kPushPull) {
    return invalid(
        fmt::format("--exchange {}: wanted servers, since workers among themselves "
                    "have push_pull alone, and this is {}",
                    name_of(settings.exchange), name_of(settings.benchmark)));
  }
  return check_lab(settings);
}

}  // namespace

std::string_view name_of(Benchmark benchmark) {
  for (const Name& known : kNames) {
    if (known.benchmark == benchmark) return known.name;
  }
  return "unknown";
}

Result<Benchmark> find_benchmark(std::string_view name) {
  std::string names;
  for (const Name& known : kNames) {
    if (known.name == name) return known.benchmark;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return Status(Code::kInvalidArgument,
                fmt::format("there is no benchmark '{}'; there are {}", name, names));
}

Result<Settings> read_settings(Benchmark benchmark, std::span<const std::string> words) {
  Settings settings;
  settings.benchmark = benchmark;
  std::vector<Flag> flags{switch_flag("json", settings.json), switch_flag("help", settings.help),
                          seconds_flag("seconds", 0.01, 3600, settings.seconds)};
  const auto defaults = [&settings](double seconds, std::uint32_t repeats) {
    settings.seconds = seconds;
    settings.repeats = repeats;
  };
  switch (benchmark) {
    case Benchmark::kLimits:
    case Benchmark::kQueue:
      defaults(0.2, 5);
      break;
    case Benchmark::kCodec:
      defaults(0.2, 5);
      settings.bytes = {std::uint64_t{64} << 20};
      add(flags, {bytes_flag(settings)});
      break;
    case Benchmark::kIdle:
      defaults(10, 1);
      add(flags, cluster_flags(settings));
      break;
    case Benchmark::kPreempt:
      defaults(2, 3);
      add(flags, preempt_flags(settings.preempt));
      break;
    case Benchmark::kRpc:
      defaults(0.3, 5);
      add(flags, rpc_flags(settings.rpc));
      break;
    case Benchmark::kRecover:
      defaults(1, 3);
      settings.servers = 1;
      add(flags, {whole_flag("workers", 1, kMaxProcesses, settings.workers),
                  whole_flag("servers", 1, kMaxProcesses, settings.servers)});
      add(flags, recover_flags(settings.recover));
      break;
    default:
      defaults(3, 1);
      add(flags, cluster_flags(settings));
      add(flags, exchange_flags(settings));
  }
  if (benchmark != Benchmark::kIdle) {
    flags.push_back(whole_flag("repeats", 1, 1000, settings.repeats));
  }
  Status status = read_flags(words, flags);
  if (status.ok()) status = check_memory(settings);
  if (status.ok()) status = check_exchange(settings);
  if (status.ok()) status = check_preempt(settings.preempt);
  if (status.ok()) status = check_rpc(settings.rpc);
  if (status.ok()) status = check_recover(settings.recover);
  if (!status.ok()) return status;
  return settings;
}

std::uint32_t inflight_for(const Settings& settings, std::uint64_t bytes) {
  if (settings.inflight != 0) return settings.inflight;
  return bytes >= 1024 * 1024 ? 4 : 1;
}

}  // namespace stretto::bench
