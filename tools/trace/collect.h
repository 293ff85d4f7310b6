// SPDX-License-Identifier: Apache-2.0
// Collects a trace from a running job: starts it, waits for its end, and fetches it in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "observe/trace/timeline.h"
#include "tools/trace/observer_client.h"

namespace stretto::observe {

/// Extent of a trace.
struct TraceExtent {
  std::uint32_t iterations = 0;  ///< 0: all that start within `seconds`,
  std::uint32_t seconds = 60;    ///< which otherwise is their time limit.
};

/// Waits until the job has started, then traces it. The wait is at most `seconds`, or a minute if
/// `seconds` is the length of the trace. `say` gets progress messages periodically.
Result<trace::Trace> collect(ObserverClient& observer, const TraceExtent& extent,
                             const std::function<void(const std::string&)>& say);

}  // namespace stretto::observe
