// SPDX-License-Identifier: Apache-2.0
// Settings: the command line, parsed and checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/tensor.h"
#include "tools/bench/rpc/rpc_settings.h"
#include "tools/bench/settings/preempt_settings.h"
#include "tools/bench/settings/recover_settings.h"

namespace stretto::bench {

enum class Benchmark : std::uint8_t {
  kLimits,
  kPushPull,
  kPush,
  kPull,
  kIdle,
  kPreempt,
  kCodec,
  kQueue,
  kRpc,
  kRecover
};

/// "push_pull" and so on.
std::string_view name_of(Benchmark benchmark);
/// The benchmark of that name.
Result<Benchmark> find_benchmark(std::string_view name);

struct Settings {
  Benchmark benchmark = Benchmark::kLimits;
  bool help = false;
  bool json = false;
  std::uint32_t workers = 2;
  std::uint32_t servers = 2;
  std::uint32_t shards = 1;                            ///< Of each server.
  std::vector<std::uint64_t> bytes{16 * 1024 * 1024};  ///< Of one tensor; each size is measured.
  std::uint32_t inflight = 0;    ///< Tensors in flight at a time; 0: as inflight_for says.
  std::uint32_t part_bytes = 0;  ///< 0: as the environment says.
  std::string_view transport;    ///< auto, tcp, zmq, shm or fabric; empty: as the environment says.
  Exchange exchange = Exchange::kServers;
  /// Of the links of a lab's hosts; the last one applies to all further hosts. Empty: no lab.
  std::vector<std::uint64_t> lab_mbit;
  std::uint32_t lab_hosts = 0;  ///< 0: one for each worker and each server.
  std::uint32_t repeats = 0;
  double seconds = 0;
  PreemptSettings preempt;
  RpcSettings rpc;
  RecoverSettings recover;
};

/// `words` follow the benchmark's name.
Result<Settings> read_settings(Benchmark benchmark, std::span<const std::string> words);

/// 4 for tensors of 1 MiB or more, which is enough to fill the links; 1 for smaller tensors, whose
/// latency is measured.
std::uint32_t inflight_for(const Settings& settings, std::uint64_t bytes);

/// The output of --help.
std::string help_text();

}  // namespace stretto::bench
