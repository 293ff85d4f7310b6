// SPDX-License-Identifier: Apache-2.0
// Spare workers of an elastic job: each is a restart that remains for the launcher. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// The spare for the next lost worker; none: no restart is left.
std::optional<std::size_t> spare_worker(const JobEvidence& evidence);

/// Restarts `member`, which has ended before all workers had joined, as GoingOn::take_returns()
/// does; that uses a restart. Returns the note for the user; empty: no restart is left, and the end
/// counts.
std::string run_again_before_all_joined(JobEvidence& evidence, std::size_t member);

/// A replacement that has not joined and for which no slot is free: it ends, and may start for
/// another worker. The replacement of `returned` comes first. None: all have slots.
std::optional<std::size_t> take_unneeded(JobEvidence& evidence,
                                         std::optional<std::size_t> returned);

/// The first worker that was lost while no spare was free, if its slot is free. Each loss is
/// returned once, and the caller starts a spare for it. None: no such worker.
std::optional<std::size_t> take_unreplaced(JobEvidence& evidence);

/// The number of members that replaced others, except migrated servers.
std::uint32_t replaced_in(const JobEvidence& evidence);

}  // namespace stretto::launch
