// SPDX-License-Identifier: Apache-2.0
// Rendezvous of a job over hosts: addresses of the scheduler, servers and worker 0, from the hellos
// of the hosts' agents. Pure.
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
  std::string scheduler_host;           ///< Its bind address, and its address for other hosts.
  std::string master_host;              ///< Worker 0's host.
  std::vector<std::string> bind_hosts;  ///< By site, for servers; empty: loopback.
  std::vector<std::string> machines;    ///< By site: the host's own name.
};

/// `hellos`: by site; the first is that of this host. Errors: InvalidArgument or Network, naming
/// the flag that helps.
Result<Meeting> meet(const Plan& plan, const Placement& placement,
                     const std::vector<AgentHello>& hellos);

/// Address of a site's processes for other hosts. Errors: as meet().
Result<std::string> address_at(std::size_t site, const Plan& plan, const Placement& placement,
                               const std::vector<AgentHello>& hellos);

/// True if mpirun can only start ranks here: no other host is named or allocated by a batch system.
bool mpirun_stays_here(const Plan& plan, const Variables& inherited,
                       const std::function<bool(const std::string&)>& is_here);

/// Addresses that agents connect to, best first: "192.0.2.7:4711,198.51.100.7:4711". `interfaces`:
/// as in AgentHello; `interface`: the only allowed one; empty: all but loopback.
std::string addresses_to_come_to(const std::string& interface,
                                 const std::vector<std::string>& interfaces, bool one_host,
                                 std::uint16_t port);

}  // namespace stretto::launch
