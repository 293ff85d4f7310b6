// SPDX-License-Identifier: Apache-2.0
// Guest servers: those of the job that have been started elsewhere than by its launcher
// (stretto-launch join --servers). It never runs one itself, and knows them by their numbers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// All that may come to a job in which places change hands; else none.
std::vector<JobMember> guest_servers(const Plan& plan);

/// This member is one, in a job of so many places.
bool is_guest_server(const JobMember& member, std::uint32_t places);

/// This member, of a job of so many places, is a guest that is lost: who is run in its place, of
/// those that the launcher starts and that do not run. None: both run, or it is no guest.
std::optional<std::size_t> stand_in_for(std::size_t member, std::uint32_t places,
                                        const JobEvidence& evidence);

/// Of a launch, in starting order: those of the plan, and then its spares and guest servers.
std::vector<JobMember> with_spares(const Plan& plan);
/// How many of these are not started with the others.
std::size_t spares_in(const Plan& plan);

}  // namespace stretto::launch
