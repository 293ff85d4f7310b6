// SPDX-License-Identifier: Apache-2.0
// The time that a measurement reads; what Stretto itself decides by comes from its Clock.
#pragma once

#include "stretto/types.h"

namespace stretto::bench {

inline Time now() { return std::chrono::steady_clock::now(); }

}  // namespace stretto::bench
