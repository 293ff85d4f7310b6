// SPDX-License-Identifier: Apache-2.0
// Stands for endpoint.cc where prometheus-cpp is absent.
#include "observe/metrics/endpoint.h"

namespace stretto::metrics {

// NOLINTNEXTLINE(performance-unnecessary-value-param): as endpoint.cc's, which keeps the board.
Result<std::unique_ptr<MetricsEndpoint>> serve(const std::string&,
                                               std::shared_ptr<MetricsSnapshots>,
                                               const std::string&) {
  return Status(
      Code::kUnsupported,
      "this was built without prometheus-cpp; install prometheus-cpp-dev and build again");
}

}  // namespace stretto::metrics
