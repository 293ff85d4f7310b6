// SPDX-License-Identifier: Apache-2.0
// Where a job over hosts meets: the addresses at which scheduler, servers and worker 0 are to be
// found, from what each host's agent has said. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {

struct Meeting {
  std::string scheduler_host;           ///< What it binds, and where the others find it.
  std::string master_host;              ///< Worker 0's host.
  std::vector<std::string> bind_hosts;  ///< By site, for servers; empty: loopback.
  std::vector<std::string> machines;    ///< By site: what its host calls itself.
};

/// `hellos`: by site; the first is what an agent here would say. Errors: InvalidArgument or
/// Network, with the flag that helps.
Result<Meeting> meet(const Plan& plan, const Placement& placement,
                     const std::vector<AgentHello>& hellos);

/// Where other hosts find processes of a site. Errors: as meet() has them.
Result<std::string> address_at(std::size_t site, const Plan& plan, const Placement& placement,
                               const std::vector<AgentHello>& hellos);

/// True if mpirun can only start ranks here: no other host is named, and no batch system has given
/// it some.
bool mpirun_stays_here(const Plan& plan, const Variables& inherited,
                       const std::function<bool(const std::string&)>& is_here);

/// Where agents are to come to, best first: "192.0.2.7:4711,198.51.100.7:4711". `interfaces`: as
/// AgentHello has them; `interface`: the only one to be used; empty: all that are not loopback.
std::string addresses_to_come_to(const std::string& interface,
                                 const std::vector<std::string>& interfaces, bool one_host,
                                 std::uint16_t port);

}  // namespace stretto::launch
