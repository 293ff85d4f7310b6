// SPDX-License-Identifier: Apache-2.0
// Which flags each benchmark has, and what they may say.
#include "tools/bench/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/config.h"
#include "tools/bench/flags.h"

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
                                          {"replay", Benchmark::kReplay},
                                          {"io", Benchmark::kIo},
                                          {"codec", Benchmark::kCodec},
                                          {"queue", Benchmark::kQueue}}};

constexpr std::uint64_t kMaxProcesses = 256;
constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxWorkerBytes = std::uint64_t{16} << 30;
constexpr std::uint64_t kElementBytes = 4;  // Tensors are of f32.

// Namespaces stand for hosts: there is no shared memory between them.
Status read_network(std::string_view text) {
  if (text == "auto" || text == "zmq" || text == "fabric") return {};
  return invalid("wanted auto, zmq or fabric");
}

Status read_transport(std::string_view text, std::string& transport) {
  if (text != "auto" && text != "zmq" && text != "shm" && text != "fabric") {
    return invalid("wanted auto, zmq, shm or fabric");
  }
  transport = text;
  return {};
}

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

std::vector<Flag> common_flags(Settings& settings) {
  return {{"json", true,
           [&settings](const std::string&) {
             settings.json = true;
             return Status();
           }},
          {"help", true,
           [&settings](const std::string&) {
             settings.help = true;
             return Status();
           }},
          {"seconds", false, [&settings](const std::string& value) {
             return read_seconds(value, 0.01, 3600, settings.seconds);
           }}};
}

// Each has a host of a lab.
void add_host_flags(Settings& settings, std::vector<Flag>& flags) {
  const auto number = [&flags](std::string_view name, std::uint32_t& value) {
    flags.push_back({name, false, [&value](const std::string& text) {
                       return read_whole(text, 1, kMaxLabPeers / 2, value);
                     }});
  };
  number("workers", settings.workers);
  number("servers", settings.servers);
}

void add_cluster_flags(Settings& settings, std::vector<Flag>& flags) {
  const auto number = [&flags](std::string_view name, std::uint32_t& value) {
    flags.push_back({name, false, [&value](const std::string& text) {
                       return read_whole(text, 1, kMaxProcesses, value);
                     }});
  };
  number("workers", settings.workers);
  number("servers", settings.servers);
  number("shards", settings.shards);
}

void add_network_flag(Settings& settings, std::vector<Flag>& flags) {
  flags.push_back({"transport", false, [&settings](const std::string& value) {
                     settings.preempt.fabric = value == "fabric";
                     return read_network(value);
                   }});
}

void add_exchange_flags(Settings& settings, std::vector<Flag>& flags) {
  flags.push_back({"bytes", false, [&settings](const std::string& value) {
                     return read_list(value, kElementBytes, kMaxTensorBytes, settings.bytes);
                   }});
  flags.push_back({"inflight", false, [&settings](const std::string& value) {
                     return read_whole(value, 1, 4096, settings.inflight);
                   }});
  flags.push_back({"part_bytes", false, [&settings](const std::string& value) {
                     Status status = read_whole(value, 64, 16 << 20, settings.part_bytes);
                     if (status.ok() && settings.part_bytes % 64 != 0) {
                       status = invalid("wanted a multiple of 64");
                     }
                     return status;
                   }});
  flags.push_back({"transport", false, [&settings](const std::string& value) {
                     return read_transport(value, settings.transport);
                   }});
}

Flag repeats_flag(Settings& settings) {
  return {"repeats", false, [&settings](const std::string& value) {
            return read_whole(value, 1, 1000, settings.repeats);
          }};
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
  std::vector<Flag> flags = common_flags(settings);
  const auto defaults = [&settings](double seconds, std::uint32_t repeats) {
    settings.seconds = seconds;
    settings.repeats = repeats;
  };
  switch (benchmark) {
    case Benchmark::kLimits:
    case Benchmark::kQueue:
      defaults(0.2, 5);
      flags.push_back(repeats_flag(settings));
      break;
    case Benchmark::kCodec:
      defaults(0.2, 5);
      settings.bytes = {std::uint64_t{64} << 20};
      flags.push_back(repeats_flag(settings));
      flags.push_back({"bytes", false, [&settings](const std::string& value) {
                         return read_list(value, kElementBytes, kMaxTensorBytes, settings.bytes);
                       }});
      break;
    case Benchmark::kIdle:
      defaults(10, 1);
      add_cluster_flags(settings, flags);
      break;
    case Benchmark::kPreempt:
      defaults(2, 3);
      flags.push_back(repeats_flag(settings));
      add_network_flag(settings, flags);
      for (Flag& flag : preempt_flags(settings.preempt)) flags.push_back(std::move(flag));
      break;
    case Benchmark::kReplay:
      defaults(0, 2);
      settings.workers = settings.servers = 1;
      flags.push_back(repeats_flag(settings));
      add_host_flags(settings, flags);
      for (Flag& flag : replay_flags(settings.replay)) flags.push_back(std::move(flag));
      break;
    case Benchmark::kIo:
      defaults(0.25, 1);
      flags.push_back(repeats_flag(settings));
      for (Flag& flag : io_flags(settings.io)) flags.push_back(std::move(flag));
      break;
    default:
      defaults(3, 1);
      add_cluster_flags(settings, flags);
      flags.push_back(repeats_flag(settings));
      add_exchange_flags(settings, flags);
  }
  Status status = read_flags(words, flags);
  if (status.ok()) status = check_memory(settings);
  if (status.ok()) status = check_preempt(settings.preempt);
  if (status.ok() && benchmark == Benchmark::kReplay) status = check_replay(settings.replay);
  if (status.ok() && benchmark == Benchmark::kIo && !settings.help) status = check_io(settings.io);
  if (!status.ok()) return status;
  return settings;
}

std::uint32_t inflight_for(const Settings& settings, std::uint64_t bytes) {
  if (settings.inflight != 0) return settings.inflight;
  return bytes >= 1024 * 1024 ? 4 : 1;
}

}  // namespace stretto::bench
