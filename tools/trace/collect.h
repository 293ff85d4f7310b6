// SPDX-License-Identifier: Apache-2.0
// Collecting a trace from a running job: start it, wait for its end, fetch it in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/trace/observer.h"
#include "trace/timeline.h"

namespace stretto::observe {

/// Waits until the job has begun, `seconds` at most, and traces it then for as long at most. `say`
/// is told, now and then, how far it is.
Result<trace::Trace> collect(Observer& observer, std::uint32_t iterations, std::uint32_t seconds,
                             const std::function<void(const std::string&)>& say);

}  // namespace stretto::observe
