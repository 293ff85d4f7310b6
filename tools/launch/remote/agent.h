// SPDX-License-Identifier: Apache-2.0
// The launcher's agent on another host (stretto-launch --agent): starts processes on request, and
// reports their events. Environments, including the job's token, arrive over its link and never in
// an argument. If the link ends, the agent kills all its processes: a killed ssh client, srun or
// launcher leaves none behind.
#pragma once

#include "common/clock.h"
#include "common/config/config.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {

/// The hello of an agent with this environment. `interfaces`: as AgentHello has them. Pure.
AgentHello hello_from(const Variables& environment, std::string host,
                      std::vector<std::string> interfaces);

/// Serves until its launcher releases it; returns the exit status. Uses stdin and stdout, or a
/// socket if kLaunchAddresses is set.
int run_agent(const Variables& environment, const Clock& clock);

/// Serves the launcher of node 0, which listens at `meeting_point` within `patience` and admits
/// nodes that have the secret. Accepts orders only after that launcher has proved that it has the
/// secret, too. `rank`: among the other nodes; -1: any. The exit status is 0 if the job's is, else
/// 1. Prints an error line.
int run_node(const Variables& environment, const HostPort& meeting_point, const std::string& secret,
             std::int64_t rank, Duration patience, const Clock& clock);

}  // namespace stretto::launch
