// SPDX-License-Identifier: Apache-2.0
// The launcher's agent on another host (stretto-launch --agent): starts what it is told, and tells
// what becomes of it. Environments, the job's token among them, come to it over its link and are
// never in an argument. If the link ends, everything that it has started is killed: a killed ssh
// client, srun or launcher leaves nothing behind.
#pragma once

#include "common/clock.h"
#include "common/config/config.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {

/// What an agent with this environment says of itself. `interfaces`: as AgentHello has them. Pure.
AgentHello hello_from(const Variables& environment, std::string host,
                      std::vector<std::string> interfaces);

/// Works until its launcher lets it go; the exit status. Talks over stdin and stdout, or over a
/// socket if kLaunchAddresses is set.
int run_agent(const Variables& environment, const Clock& clock);

/// Works for the launcher of node 0, which listens at `meeting_point` now or within `patience`, and
/// admits nodes that have the secret. Takes no order before that launcher has shown that it has the
/// secret, too. `rank`: among the other nodes; -1: any. The exit status is 0 if the job's is,
/// else 1. Prints an error line.
int run_node(const Variables& environment, const HostPort& meeting_point, const std::string& secret,
             std::int64_t rank, Duration patience, const Clock& clock);

}  // namespace stretto::launch
