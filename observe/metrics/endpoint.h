// SPDX-License-Identifier: Apache-2.0
// MetricsEndpoint: http://HOST:PORT/metrics for Prometheus, by prometheus-cpp, with threads of its
// own.
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
  /// host:port that is bound.
  virtual const std::string& address() const = 0;
};

/// Serves what `board` has. Where other hosts may look in, the password must be the token, whatever
/// the user is called. Errors: InvalidArgument if the address cannot be bound; Unsupported if
/// this was built without prometheus-cpp.
Result<std::unique_ptr<MetricsEndpoint>> serve(const std::string& address,
                                               std::shared_ptr<MetricsSnapshots> board,
                                               const std::string& token);

/// Where this process's endpoint goes: STRETTO_METRICS_ADDRESS is the scheduler's, and on its port
/// are counted the servers and then the workers, each by rank. Port 0 stays 0: any free one.
Result<std::string> address_of(const Config& config, std::uint32_t rank);

/// An endpoint as the configuration wants it, or none. What cannot be is said in the log, and is no
/// reason to end.
std::unique_ptr<MetricsEndpoint> serve_if_wanted(const Config& config, std::uint32_t rank,
                                                 const std::shared_ptr<MetricsSnapshots>& board);

}  // namespace stretto::metrics
