// SPDX-License-Identifier: Apache-2.0
// The command line of `recover`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/support/flags.h"

namespace stretto::bench {

/// One cost of fault tolerance.
enum class RecoverRow : std::uint8_t {
  kCheckpoint,   ///< Steps while a checkpoint is written, and the rate of writing.
  kRestore,      ///< A job restored from a checkpoint.
  kReplicas,     ///< Exchanges with a standby server, compared with those without.
  kEncrypt,      ///< Encrypted exchanges compared with plain ones.
  kCrc,          ///< Exchanges with a checksum on each frame, compared with those without.
  kReturns,      ///< A server of sums is killed and restarted.
  kStandsBy,     ///< A server with a standby is killed.
  kBeginsAgain,  ///< A server is killed, and the job restarts from its last checkpoint.
};

struct RecoverSettings {
  std::vector<RecoverRow> rows;        ///< Empty: all.
  std::uint64_t bytes = 64 << 20;      ///< Kept by a server, for a checkpoint.
  std::uint64_t step_bytes = 1 << 20;  ///< The tensor that a step exchanges.
  double interval = 2;                 ///< Seconds with a checkpoint, and again without one.
  std::vector<std::uint64_t> exchanged{4 << 10, 1 << 20, 16 << 20};  ///< Tensors' bytes.
  std::uint32_t kills = 5;                                           ///< For each kind.
  std::string folder;  ///< Where checkpoints are written; empty: the system's temporary folder.
};

/// "checkpoint" and so on.
std::string_view name_of(RecoverRow row);
bool has(const RecoverSettings& settings, RecoverRow row);

/// Whether a phase has a checkpoint: alternately the second and the first of two phases, so that
/// slow growth affects both alike.
constexpr bool has_checkpoint(std::size_t phase) { return phase % 4 == 1 || phase % 4 == 2; }

std::vector<Flag> recover_flags(RecoverSettings& settings);
/// The checks across several flags.
Status check_recover(const RecoverSettings& settings);

/// The number of tensors of `step_bytes`, with a rule that keeps as much again, for which each of
/// `servers` holds `bytes`.
std::uint64_t tensors_held(const RecoverSettings& settings, std::uint32_t servers);

}  // namespace stretto::bench
