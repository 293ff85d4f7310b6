// SPDX-License-Identifier: Apache-2.0
// Spare workers of an elastic job: each is a restart that the launcher may still make. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// The spare that is started for the next worker that is lost; none: no restart is left.
std::optional<std::size_t> spare_worker(const JobEvidence& evidence);

/// `member` has ended before all workers had joined, and is run again, as GoingOn::take_returns()
/// has it; that uses a restart. The note for the user; empty: no restart is left, and the end
/// counts.
std::string run_again_before_all_joined(JobEvidence& evidence, std::size_t member);

/// Workers that are in leave no place for this replacement, which has not joined: it ends, and may
/// be started for another worker. The replacement of `returned` comes first. None: all have places.
std::optional<std::size_t> take_unneeded(JobEvidence& evidence,
                                         std::optional<std::size_t> returned);

/// The first worker that was lost while no spare was free, if its place is free: the caller starts
/// a spare for it, as each loss is taken once. None: no such worker.
std::optional<std::size_t> take_unreplaced(JobEvidence& evidence);

/// Members that were run for others, but for servers that move.
std::uint32_t replaced_in(const JobEvidence& evidence);

}  // namespace stretto::launch
