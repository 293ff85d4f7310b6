// SPDX-License-Identifier: Apache-2.0
// Runs servers on this host for a job of another launcher, and stays their parent until they have
// ended.
#pragma once

#include "common/clock.h"
#include "tools/launch/join/server_join.h"
#include "tools/launch/plan/environment.h"

namespace stretto::launch {

/// Ok once all have ended normally. Descriptors 0 to 2 must be open. `machine`: the machine id of
/// the servers, as the scheduler knows it.
Status run_servers(const ServerJoin& wish, const observe::Target& job, const Variables& inherited,
                   std::uint64_t machine, const Clock& clock);

}  // namespace stretto::launch
