// SPDX-License-Identifier: Apache-2.0
// Runs servers here that have places of a job that runs elsewhere, and is their parent until they
// have ended.
#pragma once

#include "common/clock.h"
#include "tools/launch/join/server_join.h"
#include "tools/launch/plan/environment.h"

namespace stretto::launch {

/// Ok once all have ended in order. Descriptors 0 to 2 must be open. `machine`: where they run, as
/// the scheduler is told.
Status run_servers(const ServerJoin& wish, const observe::Target& job, const Variables& inherited,
                   std::uint64_t machine, const Clock& clock);

}  // namespace stretto::launch
