// SPDX-License-Identifier: Apache-2.0
// MetricsEndpoint: serves http://HOST:PORT/metrics to Prometheus, by prometheus-cpp, with its own
// threads.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "observe/metrics/snapshots.h"

namespace stretto::metrics {

/// Thread: user. Serves until it is destroyed.
class MetricsEndpoint {
 public:
  virtual ~MetricsEndpoint() = default;
  /// The bound host:port.
  virtual const std::string& address() const = 0;
};

/// Serves the snapshots of `board`. If other hosts can connect, the password must be the token; the
/// user name does not matter. Errors: InvalidArgument if the address cannot be bound; Unsupported
/// in a build without prometheus-cpp.
Result<std::unique_ptr<MetricsEndpoint>> serve(const std::string& address,
                                               std::shared_ptr<MetricsSnapshots> board,
                                               const std::string& token);

/// The address of this process's endpoint. The scheduler has STRETTO_METRICS_ADDRESS; servers and
/// then workers have the ports after it, by rank. Port 0 stays 0: any free port.
Result<std::string> address_of(const Config& config, std::uint32_t rank);

/// The endpoint that the configuration requests, or none. Logs an error, which does not end the
/// process.
std::unique_ptr<MetricsEndpoint> serve_if_wanted(const Config& config, std::uint32_t rank,
                                                 const std::shared_ptr<MetricsSnapshots>& board);

}  // namespace stretto::metrics
