// SPDX-License-Identifier: Apache-2.0
// Whose port is which, and what is said when a port cannot be had.
#include <fmt/core.h>

#include "common/log.h"
#include "observe/metrics/endpoint.h"

namespace stretto::metrics {

Result<std::string> address_of(const Config& config, std::uint32_t rank) {
  Result<HostPort> base = parse_host_port(config.metrics_address);
  if (!base.ok()) return base.status();
  std::uint32_t port = base->port;
  if (port != 0 && config.role == Role::kServer) port += 1 + rank;
  if (port != 0 && config.role == Role::kWorker) port += 1 + config.server_processes() + rank;
  if (port > 65535) {
    return Status(Code::kInvalidArgument,
                  fmt::format("STRETTO_METRICS_ADDRESS is {}: port {} for {} {} does not exist; "
                              "choose a lower one",
                              config.metrics_address, port, name_of(config.role), rank));
  }
  return HostPort{base->host, static_cast<std::uint16_t>(port)}.text();
}

std::unique_ptr<MetricsEndpoint> serve_if_wanted(const Config& config, std::uint32_t rank,
                                                 const std::shared_ptr<MetricsSnapshots>& board) {
  if (config.metrics_address.empty()) return nullptr;
  Result<std::string> address = address_of(config, rank);
  Result<std::unique_ptr<MetricsEndpoint>> endpoint =
      address.ok() ? serve(*address, board, config.token)
                   : Result<std::unique_ptr<MetricsEndpoint>>(address.status());
  if (!endpoint.ok()) {
    log(Level::kWarning, "no metrics are served: {}", endpoint.status().cause());
    return nullptr;
  }
  log(Level::kInfo, "metrics at http://{}/metrics", (*endpoint)->address());
  return std::move(*endpoint);
}

}  // namespace stretto::metrics
