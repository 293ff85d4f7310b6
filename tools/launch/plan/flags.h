// SPDX-License-Identifier: Apache-2.0
// The flags of stretto-launch, and all the ways to spell them.
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

/// What to use instead of a flag of torchrun that has no counterpart here; empty: there is one, or
/// torchrun has no flag of this plain name.
std::string_view instead_of(std::string_view name);

/// False for switches, such as --dry-run.
bool has_value(Flag flag);

/// A plain name as it is best typed, such as "--workers" or "-n".
std::string with_hyphens(std::string_view name);

/// The flag that does what another launcher's flag of this plain name does, such as "-n" for
/// "nproc-per-node"; else the flag that is spelled most like it; empty if none is near.
std::string nearest_flag(std::string_view name);

}  // namespace stretto::launch
