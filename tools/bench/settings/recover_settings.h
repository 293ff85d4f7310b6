// SPDX-License-Identifier: Apache-2.0
// What the command line of `recover` asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/support/flags.h"

namespace stretto::bench {

/// What not losing anything costs, in one respect.
enum class RecoverRow : std::uint8_t {
  kCheckpoint,   ///< Steps while a checkpoint is written, and the rate of writing.
  kRestore,      ///< A job that goes on from one.
  kReplicas,     ///< Exchanges with a server that stands by, beside those without.
  kEncrypt,      ///< Encrypted exchanges beside plain ones.
  kCrc,          ///< Exchanges whose frames carry a checksum, beside those without.
  kReturns,      ///< A server of sums is killed and comes back.
  kStandsBy,     ///< One is killed for which another stands by.
  kBeginsAgain,  ///< One is killed, and the job begins again from its last checkpoint.
};

struct RecoverSettings {
  std::vector<RecoverRow> rows;        ///< None: all.
  std::uint64_t bytes = 64 << 20;      ///< That a server keeps, for a checkpoint.
  std::uint64_t step_bytes = 1 << 20;  ///< Of the tensor that a step exchanges.
  double interval = 2;                 ///< Seconds with a checkpoint, and as many without one.
  std::vector<std::uint64_t> exchanged{4 << 10, 1 << 20, 16 << 20};  ///< Tensors' bytes.
  std::uint32_t kills = 5;                                           ///< Of each kind.
  std::string folder;  ///< Where checkpoints are; empty: the system's for such.
};

/// "checkpoint" and so on.
std::string_view name_of(RecoverRow row);
bool has(const RecoverSettings& settings, RecoverRow row);

/// Of phases of steps, whether this one has a checkpoint: of two and two each once the second and
/// once the first, so that what grows meanwhile meets both alike.
constexpr bool has_checkpoint(std::size_t phase) { return phase % 4 == 1 || phase % 4 == 2; }

std::vector<Flag> recover_flags(RecoverSettings& settings);
/// What no flag can tell alone.
Status check_recover(const RecoverSettings& settings);

/// Tensors of `step_bytes` with a rule that keeps as much again, so many that each of `servers` has
/// `bytes`.
std::uint64_t tensors_held(const RecoverSettings& settings, std::uint32_t servers);

}  // namespace stretto::bench
