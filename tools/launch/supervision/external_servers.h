// SPDX-License-Identifier: Apache-2.0
// External servers: servers of the job that its launcher did not start (stretto-launch join
// --servers). The launcher knows them by their ids. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// All servers that may join a job with server migration; else none.
std::vector<JobMember> guest_servers(const Plan& plan);

/// This member is an external server, in a job with `places` server ranks.
bool is_guest_server(const JobMember& member, std::uint32_t places);

/// The stopped launcher-started server that replaces the lost external server `member`, in a job
/// with `places` server ranks. None: both run, or `member` is not external.
std::optional<std::size_t> stand_in_for(std::size_t member, std::uint32_t places,
                                        const JobEvidence& evidence);

/// Members of a launch, in starting order: those of the plan, then its spares and external servers.
std::vector<JobMember> with_spares(const Plan& plan);
/// The number of these that do not start with the others.
std::size_t spares_in(const Plan& plan);

}  // namespace stretto::launch
