// SPDX-License-Identifier: Apache-2.0
// The flags of stretto-launch, and all their spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto::launch {

enum class Flag : std::uint8_t {
  kWorkers,
  kRestarts,
  kReplicas,
  kCheckpoint,
  kCheckpointEvery,
  kResume,
  kServers,
  kShards,
  kVia,
  kHosts,
  kHostfile,
  kWorkerHostfile,
  kServerHostfile,
  kOversubscribe,
  kEncrypt,
  kSchedulerHost,
  kInterface,
  kPort,
  kStarter,
  kDirectory,
  kEnvironment,
  kLogDirectory,
  kPage,
  kMetrics,
  kTrace,
  kProgramDirectory,
  kStartTimeout,
  kSettle,
  kDrain,
  kGrace,
  kDryRun,
  kCheck,
  kPrint,
  kName,
  kNamespace,
  kImage,
  kProcessors,
  kMemory,
  kProcessesPerNode,
  kNodes,
  kNodeRank,
  kStandalone,
  kRendezvousEndpoint,
  kRendezvousBackend,
  kMasterAddress,
  kMasterPort,
  kModule,
  kNoPython,
  kAgent,
  kHelp,
  kVersion,
};

/// "--num_workers" and "-num-workers" become "num-workers".
std::string plain_name(std::string_view word);

/// The flag of a plain name, if there is one.
std::optional<Flag> find_flag(std::string_view name);

/// The replacement for a flag of torchrun that has no counterpart here; empty: it has a
/// counterpart, or torchrun has no flag of this plain name.
std::string_view instead_of(std::string_view name);

/// False for switches, such as --dry-run.
bool has_value(Flag flag);

/// A plain name in its preferred spelling, such as "--workers" or "-n".
std::string with_hyphens(std::string_view name);

/// The flag with the effect of another launcher's flag of this plain name, such as "-n" for
/// "nproc-per-node"; else the flag with the nearest spelling; empty if none is near.
std::string nearest_flag(std::string_view name);

}  // namespace stretto::launch
