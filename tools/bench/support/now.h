// SPDX-License-Identifier: Apache-2.0
// The clock of measurements; Stretto's own decisions use its Clock.
#pragma once

#include "common/clock.h"
#include "stretto/types.h"

namespace stretto::bench {

inline Time now() { return std::chrono::steady_clock::now(); }

/// The inverse of stretto::seconds().
constexpr Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace stretto::bench
