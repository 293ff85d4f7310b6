// SPDX-License-Identifier: Apache-2.0
// Collecting a trace from a running job: start it, wait for its end, fetch it in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "observe/trace/timeline.h"
#include "tools/trace/observer_client.h"

namespace stretto::observe {

/// How much of a job is traced.
struct TraceExtent {
  std::uint32_t iterations = 0;  ///< 0: all that begin within `seconds`,
  std::uint32_t seconds = 60;    ///< which is else the most time that they may take.
};

/// Waits until the job has begun and traces it then. It waits `seconds` at most, or a minute where
/// these say only how long the trace is. `say` is told, now and then, how far it is.
Result<trace::Trace> collect(ObserverClient& observer, const TraceExtent& extent,
                             const std::function<void(const std::string&)>& say);

}  // namespace stretto::observe
