// SPDX-License-Identifier: Apache-2.0
// What was bound, unless that is every address.
#include "common/advertised.h"

#include "common/network.h"

namespace stretto {

Result<std::string> advertised_host(const Config& config) {
  if (!config.node_host.empty()) return config.node_host;
  if (!is_any_address(config.bind_host)) return std::string();
  Result<HostPort> scheduler = parse_host_port(config.scheduler);
  if (!scheduler.ok()) return scheduler.status();
  return address_towards(scheduler->host, scheduler->port);
}

}  // namespace stretto
