// SPDX-License-Identifier: Apache-2.0
// What was bound, unless that is every address.
#include "common/config/advertised.h"

#include <fmt/core.h>

#include "common/network/network.h"
#include "common/network/socket_address.h"

namespace stretto {

namespace {

// The address that this node tells others, once it is known to be heard there.
Result<std::string> heard_at(std::string host, const Config& config) {
  const auto digits = SocketAddress::from_digits(host, 0);
  if (config.bind_host != "0.0.0.0" || !digits || digits->family() == AF_INET) return host;
  return Status(Code::kInvalidArgument,
                fmt::format("STRETTO_BIND_HOST is 0.0.0.0, which binds IPv4 only, and others find "
                            "this node at {}: set it to ::, which binds IPv6 too",
                            host));
}

}  // namespace

Result<std::string> advertised_host(const Config& config) {
  if (!config.node_host.empty()) return heard_at(config.node_host, config);
  if (!is_any_address(config.bind_host)) return std::string();
  Result<HostPort> scheduler = parse_host_port(config.scheduler);
  if (!scheduler.ok()) return scheduler.status();
  Result<std::string> own = address_towards(scheduler->host, scheduler->port);
  return own.ok() ? heard_at(*own, config) : own;
}

}  // namespace stretto
